import createClient from "openapi-fetch";
import type { components, paths } from "./fanin.ts";

type Problem = components["schemas"]["Problem"];

const fanin = createClient<paths>({ baseUrl: process.env["FANIN_URL"] ?? "" });

/** Return the data of an answer, or throw its problem. */
function good<T>({ data, error }: { data?: T; error?: Problem | { message: string } }): T {
  if (data !== undefined) return data;
  throw new Error(error && "type" in error ? `${error.type}: ${error.detail}` : error?.message);
}

const { batchId } = good(await fanin.POST("/v1/batches", { body: { userKey: "typed" } }));
const params = { path: { batchId } };
const added = good(await fanin.POST("/v1/batches/{batchId}/items", { params, body: { count: 5 } }));
const [group] = added.groups;
if (group === undefined) throw new Error("an add returns a group");

const { results } = good(
  await fanin.POST("/v1/acks", {
    body: { acks: [{ itemId: `${batchId}:${group.id}:0` }, { batchId, groupId: group.id, from: 1, to: 4 }] },
  }),
);
for (const result of results) {
  if ("itemId" in result) console.log(result.verdict);
  else console.log(result.counts);
}

const closed = good(await fanin.POST("/v1/batches/{batchId}/close", { params, body: {} }));
const { state, progress } = good(await fanin.GET("/v1/batches/{batchId}", { params }));
console.log(closed.completedByYou, state, progress?.acked);
