// The batch above an item, and the batches below the items of a batch: which of them it waits for.

import { h } from "/elements/dom.js";
import { count } from "/elements/format.js";
import { lastAck, look, progressOf } from "/elements/live.js";
import { address, bar, command, isEnded, link, nameOf, stateOf, table } from "/elements/parts.js";

const CHILDREN = 20,
  LIVE = 10; // whose progress is read at each poll
const kept = { path: "", all: null }; // of the last answer about the done ones

export async function below(path, ask) {
  const found = await withDone(await ask(`${path}/children?limit=${CHILDREN}`), path, ask);
  await look(found.batches, ask, LIVE);
  return found;
}

// Children that are done take the room that those that are waited for leave. If they cannot be read, those of the last answer stay.
async function withDone(found, path, ask) {
  if (found.cursor || found.batches.length >= CHILDREN) return found;
  if (kept.path !== path) Object.assign(kept, { path, all: null });
  const unread = await ask(`${path}/children?done=true&limit=${CHILDREN}`).then((all) => void (kept.all = all), olderApi);
  const known = new Set(found.batches.map((each) => each.batchId));
  const more = (kept.all?.batches ?? []).filter((each) => !known.has(each.batchId) && isEnded(each));
  const batches = [...found.batches, ...more.map((each) => ({ ...each, isDone: each.state === "COMPLETE" }))];
  return { batches, cursor: kept.all?.cursor, unread };
}

// An older API refuses the query.
const olderApi = (failure) => ([400, 404].includes(failure.status) ? null : failure);

export const above = async ({ parentItemId }, ask) => ask(`/v1/batches/${parentItemId.split(":")[0]}`);

// The parent by its name, once it is read; it may have expired.
export function parent({ parentItemId }, found) {
  if (!parentItemId) return null;
  const id = parentItemId.split(":")[0];
  const name = found && !found.failure ? [nameOf(found), " ", stateOf(found)] : id;
  return h(
    "p",
    {},
    "Child of ",
    link(`#/batches/${id}`, name),
    ", item ",
    h("code", { title: parentItemId }, parentItemId.split(":")[2]),
  );
}

// First those that ended badly, then the stalled ones, then the others with the fewest items done; the done ones last.
function order(one, other) {
  const rank = (each) => (each.isDone ? 3 : isEnded(each) ? 0 : each.isStalled ? 1 : 2);
  const left = ({ batchId, total }) => total - (progressOf(batchId)?.estimate ?? 0);
  return rank(one) - rank(other) || left(other) - left(one);
}

export function children(batch, found) {
  if (!found || found.failure?.status === 404) return null;
  if (found.failure) return h("p", { class: "note" }, `The children could not be read: ${found.failure.message}`);
  const rows = found.batches.slice(0, CHILDREN).sort(order).map((each) => ({ key: each.batchId, cells: cells(each) }));
  const unread = found.unread ? h("p", { class: "note" }, `The done ones could not be read: ${found.unread.message}`) : null;
  if (!rows.length) return unread;
  const columns = [["Batch", "name"], ["State"], ["Done", "done"], ["Last ack"], ["Item", "n"]];
  const isAll = !found.cursor && found.batches.length <= CHILDREN;
  const stalled = found.batches.filter((each) => each.isStalled).map(nameOf);
  return h(
    "section",
    {},
    h("h2", {}, "Children"),
    h("p", { class: "soft" }, "Those that items wait for, those that ended badly, and then those that are done."),
    stalled.length ? h("p", { class: "bad" }, `Stalled: ${stalled.join(", ")}`) : null,
    table("Children", columns, rows),
    unread,
    isAll ? null : h("p", { class: "soft" }, "There are more: ", command(`fanin children ${batch.batchId} --done --all`)),
  );
}

const cells = (each) => [
  link(address(`batches/${each.batchId}`), nameOf(each)),
  stateOf(each),
  share(each),
  lastAck(each),
  h("span", { title: each.parentItemId }, count(Number(each.parentItemId.split(":")[2]))),
];

function share(each) {
  const known = progressOf(each.batchId);
  if (!isEnded(each) && known) return bar(known, each.total);
  return [count(each.total), " items", each.failed ? h("span", { class: "bad" }, `, ${count(each.failed)} failed`) : null];
}
