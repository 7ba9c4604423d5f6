import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

const base = process.env.FANIN_URL;
const again = new Set([429, 500, 502, 503, 504]);

/** Send a request of this API; sign: adds credentials to each attempt. */
export async function call(method, path, body, { key = randomUUID(), sign = (request) => request } = {}) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  if (method === "POST") headers["idempotency-key"] = key;
  const request = { method, url: base + path, headers, body: body && JSON.stringify(body) };
  for (let attempt = 1; ; attempt++) {
    const answer = await send(await sign(request)).catch((error) => ({ status: 503, error }));
    if (answer.status < 300) return answer.json();
    if (attempt === 5 || !again.has(answer.status)) throw answer.error ?? new Refused(answer, await answer.text());
    const asked = Number(answer.headers?.get("retry-after") ?? 0);
    await pause(Math.max(asked * 1000, Math.random() * 100 * 2 ** attempt));
  }
}

const send = ({ url, ...request }) => fetch(url, { ...request, signal: AbortSignal.timeout(35_000) });

/** An answer that a repetition does not change; problem: its document. */
export class Refused extends Error {
  constructor(answer, text) {
    super(`${answer.status} ${text}`);
    this.status = answer.status;
    this.problem = text.startsWith("{") ? JSON.parse(text) : {};
  }
}

/** The ids of the items that an add reserved. */
export function* itemIds({ batchId, groups }) {
  for (const { id, upto } of groups) for (let index = 0; index < upto; index++) yield `${batchId}:${id}:${index}`;
}

/** The outstanding ranges of a batch, page after page. */
export async function* outstanding(batchId, options) {
  let cursor = "";
  do {
    const page = await call("GET", `/v1/batches/${batchId}/outstanding?${cursor}limit=100`, undefined, options);
    yield* page.ranges;
    cursor = page.cursor ? `cursor=${page.cursor}&` : undefined;
  } while (cursor !== undefined);
}
