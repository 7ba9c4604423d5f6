// Requests to the dashboard's own server, which signs them for the API.

const ANSWER_MS = 40000;

// An answer that is no success: *kind* is the last part of the problem's type, "unreachable" if there was no answer.
export class Failure extends Error {
  constructor(status, kind, title, detail) {
    super(detail || title);
    Object.assign(this, { status, kind, title });
  }
}

export async function ask(path, signal, options = {}) {
  const limits = [AbortSignal.timeout(ANSWER_MS), signal].filter(Boolean);
  let answer, body;
  try {
    answer = await fetch(path, { ...options, signal: AbortSignal.any(limits) });
    body = await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(0, "unreachable", "The dashboard does not answer", String(error.message ?? error));
  }
  if (answer.ok) return body;
  const kind = String(body.type ?? "")
    .split(":")
    .pop();
  const fields = (body.errors ?? []).map((each) => `${each.field}: ${each.detail}`);
  throw new Failure(
    answer.status,
    kind,
    body.title ?? `Status ${answer.status}`,
    [body.detail, ...fields].join(" · "),
  );
}

// A write. Its key makes a repetition the same request; the header shows that this page sent it.
export const write = (path, body = {}) =>
  ask(path, undefined, {
    method: "POST",
    body: JSON.stringify(body),
    headers: {
      "Content-Type": "application/json",
      "Idempotency-Key": crypto.randomUUID(),
      "X-Fanin-Dashboard": "1",
    },
  });

export const query = (values) => {
  const given = Object.entries(values).filter(
    ([, value]) => value !== "" && value !== undefined && value !== null,
  );
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

const ADVICE = {
  "unreachable": "Start it again with `fanin dashboard`, and open the address that it prints.",
  "not-opened":
    "Run `fanin dashboard` again and open the address that it prints: one address opens one browser.",
  "no-answer":
    "Check the API's address and your network; for a local run: `fanin local list`. This page asks again.",
  "no-credentials": "Sign in again, for example with `aws sso login`. This page asks again.",
  "forbidden": "Check account, profile and policy: `fanin where` shows what is in use. Then press r.",
  "credentials": "Set FANIN_TOKEN to a valid token and start `fanin dashboard` again.",
};

export function advice(failure) {
  if (ADVICE[failure.kind]) return ADVICE[failure.kind];
  if (failure.status === 404) return "It has expired or was deleted, or the address is wrong.";
  if (failure.status === 400) return "Change the filters or the address.";
  return failure.status >= 500 || failure.status === 429 ? "This page asks again by itself." : "";
}
