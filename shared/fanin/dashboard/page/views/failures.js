// The failed items of a batch, or of the window of its map: by reason, with their items and ranges.

import { query } from "/api.js";
import { h } from "/elements/dom.js";
import { count } from "/elements/format.js";
import { address, command, isEnded, link, table, time } from "/elements/parts.js";

const RANGES = 1000, // of a window, at most
  SHOWN = 50;
const SAMPLED = 128; // reasons that a batch keeps

// A group id begins with the position of its first item in the batch, in ten hexadecimal digits.
const positionOf = (groupId, index) => parseInt(groupId.replaceAll("-", "").slice(0, 10), 16) + Number(index);
const placeOf = (itemId) => positionOf(...itemId.split(":").slice(1));

// The cursor of the list of failures that continues at a position: its six bytes, as base64url.
function cursorAt(position) {
  const bytes = Array.from({ length: 6 }, (_, at) => Math.floor(position / 256 ** (5 - at)) % 256);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

export async function load(path, { from, to }, ask) {
  const whole = ask(`${path}/failures?limit=${SHOWN}`);
  if (from === undefined) return whole;
  const near = ask(`${path}/failures${query({ limit: RANGES, cursor: cursorAt(Number(from)) })}`);
  return within(await whole, await near, Number(from), Number(to));
}

// What lies in the window: the ranges from its start on, cut at its end, and the reasons of its items.
function within({ samples }, near, from, to) {
  const ranges = near.ranges
    .map((each) => ({ ...each, low: positionOf(each.groupId, each.from) }))
    .filter((each) => each.low < to)
    .map((each) => ({ ...each, to: Math.min(each.to, each.from + to - 1 - each.low) }));
  const isAll = !near.cursor || ranges.length < near.ranges.length;
  const inside = ({ itemId }) => placeOf(itemId) >= from && placeOf(itemId) < to;
  return { samples: samples.filter(inside), ranges, isAll, failed: sizeOf(ranges) };
}

const sizeOf = (ranges) => ranges.reduce((all, { from, to }) => all + to - from + 1, 0);

export function draw(batch, found, { from, to }) {
  if (!found) return null;
  if (found.failure) return h("p", { class: "note" }, `The failures could not be read: ${found.failure.message}`);
  const isWhole = from === undefined;
  const failed = isWhole ? batch.progress.failed : found.failed;
  const of = isWhole ? "" : ` of items ${count(Number(from))} to ${count(Number(to) - 1)}`;
  const more = isWhole || found.isAll ? "" : "at least ";
  return h(
    "section",
    {},
    h("h2", {}, `Failures${of}`),
    h("p", {}, `${more}${count(failed)} failed. `, kept(found.samples.length, failed)),
    found.samples.length ? byReason(batch, found.samples, failed) : null,
    found.ranges.length ? places(found.ranges) : null,
    h("p", { class: "soft" }, "All failed items: ", command(`fanin failures ${batch.batchId} --ids`)),
    isEnded(batch) ? messages(batch) : null, // of a live one they are among the next steps
  );
}

const messages = ({ batchId }) =>
  h(
    "p",
    { class: "soft" },
    "Their messages stay in the dead-letter queue. This counts them: ",
    command(`fanin redrive DEAD_LETTER_QUEUE --batch ${batchId} --dry-run`),
  );

function kept(samples, failed) {
  if (!failed) return null;
  if (samples >= failed) return "Each has its reason:";
  if (!samples) return "No reason is kept of them.";
  return `Reasons are kept of ${count(samples)} of them, ${SAMPLED} in a batch at most, the first that came:`;
}

function byReason(batch, samples, failed) {
  const groups = Map.groupBy(samples, ({ reason }) => reason);
  const rows = [...groups]
    .sort(([, one], [, other]) => other.length - one.length)
    .map(([reason, some]) => ({ key: reason, cells: [`${count(some.length)} ×`, reason, latest(some), items(batch, some)] }));
  const heading = samples.length >= failed ? "Items" : "Items, at least";
  return table("Reasons", [[heading, "n"], ["Reason", "reason"], ["Last"], ["Item ids", "name"]], rows);
}

const latest = (some) => time(some.map(({ at }) => at).sort().at(-1));

// The items of a reason, each with a link to its place on the map.
const items = (batch, some) =>
  h(
    "details",
    {},
    h("summary", {}, "ids"),
    h(
      "ul",
      { class: "ids" },
      some.map(({ itemId, at }) => {
        const place = placeOf(itemId);
        const here = address(`batches/${batch.batchId}`, { from: place, to: place + 1 });
        return h("li", { key: itemId }, link(here, h("code", {}, itemId)), " ", time(at));
      }),
    ),
  );

const places = (ranges) =>
  h(
    "details",
    {},
    h("summary", {}, ranges.length > SHOWN ? `The first ${SHOWN} ranges` : "As ranges"),
    spans(ranges.slice(0, SHOWN)),
  );

export function spans(ranges) {
  const rows = ranges.map(({ groupId, from, to }) => ({
    key: `${groupId}:${from}`,
    cells: [h("code", {}, `${groupId}:${from}${from === to ? "" : `-${to}`}`), count(to - from + 1)],
  }));
  return table("Ranges", [["Group and range", "name"], ["Items", "n"]], rows);
}
