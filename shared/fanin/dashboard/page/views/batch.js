// One batch: its card, the map of its items, what failed, what is outstanding, and its ending event.

import { query } from "/api.js";
import { h } from "/elements/dom.js";
import { absolute, count, duration, percent, rate } from "/elements/format.js";
import * as failures from "/views/failures.js";
import * as family from "/views/family.js";
import { lastAck, see } from "/elements/live.js";
import * as map from "/views/map.js";
import { address, bar, command, done, facts, isEnded, link, nameOf, stateOf, time } from "/elements/parts.js";
import * as steps from "/views/steps.js";
import { buttons } from "/views/writes.js";

const RANGES = 50;
const RATE_SECONDS = 30;
const seen = { id: "", points: [] }; // [seconds, done] of the last polls
const open = { id: "", outstanding: false };

// *part*: what was read before, with the look that found something new; the family is not read again then.
export async function load({ id, query: asked }, ask, _early, part) {
  const path = `/v1/batches/${encodeURIComponent(id)}`;
  const later = (wanted) => wanted.catch((failure) => ({ failure }));
  const window = { from: asked.from, to: asked.to };
  const [batch, picture] = await Promise.all([
    part?.look.progress.exact ? part.look : ask(path),
    later(ask(`${path}/map${query({ ...window, cells: map.cells() })}`)),
  ]);
  remember(batch);
  const hasItems = batch.mode === "exact" && batch.total > 0;
  const isAsked = asked.item !== undefined && hasResults(batch);
  const [failed, outstanding, children, parent, result] = await Promise.all([
    hasItems && batch.progress?.failed ? later(failures.load(path, window, ask)) : null,
    hasItems && open.id === id && open.outstanding ? later(ask(`${path}/outstanding?limit=${RANGES}`)) : null,
    part ? part.children : hasItems ? later(family.below(path, ask)) : null,
    part ? part.parent : batch.parentItemId ? later(family.above(batch, ask)) : null,
    isAsked ? later(ask(`${path}/results${query({ position: asked.item })}`)) : null,
  ]);
  return { batch, picture, failed, outstanding, children, parent, result };
}

// The stream of a live batch; one that waits for live children is polled, since its looks do not show theirs.
export const stream = ({ batch, children }) =>
  isEnded(batch) || children?.batches?.some((each) => !isEnded(each)) ? "" : `/streams/${batch.batchId}`;

const text = ({ retryAfterSeconds: _, ...shown }) => JSON.stringify(shown);

// Whether a look finds something new: in the batch that is shown, or, where it is an estimate, since *known*.
export const isNews = ({ batch }, look, known) => text(look) !== text(look.progress.exact ? batch : known);

// Note that nothing was acked up to now.
export const still = ({ batch }) => remember(batch);

// An ended batch is read until its event is confirmed, and the result that is shown is gathered.
export const isOver = ({ batch, result }) =>
  isEnded(batch) && (!batch.event || batch.event.confirmed) && result?.ready !== false;

const hasResults = (batch) => batch.results && isEnded(batch);

function remember(batch) {
  if (batch.progress) see(batch.batchId, batch.progress);
  if (seen.id !== batch.batchId) Object.assign(seen, { id: batch.batchId, points: [] });
  const now = performance.now() / 1000;
  seen.points.push([now, done(batch.progress ?? { acked: 0, exact: true })]);
  while (seen.points.length > 2 && seen.points[1][0] <= now - RATE_SECONDS) seen.points.shift();
}

// Items a second over the last 30 seconds of polls; undefined before the second poll.
function speed() {
  const [first, last] = [seen.points[0], seen.points.at(-1)];
  return last[0] - first[0] >= 1 ? Math.max(0, (last[1] - first[1]) / (last[0] - first[0])) : undefined;
}

export function draw({ batch, picture, failed, outstanding, children, parent, result }, now, context) {
  return [
    h("h1", {}, nameOf(batch)),
    subtitle(batch),
    buttons(batch, context),
    family.parent(batch, parent),
    card(batch),
    settings(batch),
    isEnded(batch) ? steps.draw(batch) : null,
    drawn(batch, picture, now, context),
    resultOf(batch, result, now),
    family.children(batch, children),
    failures.draw(batch, failed, now.query),
    isEnded(batch) ? null : steps.draw(batch),
    outstandingOf(batch, outstanding, context),
    event(batch),
  ];
}

function subtitle(batch) {
  const times = [
    ["opened", batch.createdAt],
    ["closed", batch.closedAt],
    ["complete", batch.completedAt],
  ];
  const ended = batch.completedAt ? [] : [["ended", batch.endedAt]];
  const said = [...times, ...ended].filter(([, at]) => at).map(([name, at]) => [` · ${name} `, time(at)]);
  return h("p", { class: "soft" }, h("code", {}, batch.batchId), said);
}

function card(batch) {
  const { progress, total } = batch,
    part = Math.min(done(progress), total);
  const late = batch.deadlineAt && !isEnded(batch);
  return facts([
    ["State", stateOf(batch), batch.reason ? h("span", { class: "soft beside" }, batch.reason) : null],
    ["Done", bar({ ...progress, failed: 0 }, total), bounds(progress.acked, progress.upperBound, progress)],
    ["Items", count(total), batch.expectedItems ? ` of ${count(batch.expectedItems)} expected` : ""],
    ["Outstanding", left(batch)],
    ["Failed", h("span", { class: progress.failed ? "bad" : "" }, count(progress.failed))],
    lastAck(batch) === "–" ? null : ["Last ack", lastAck(batch)],
    isEnded(batch) ? null : ["Rate", pace()],
    isEnded(batch) ? null : ["Time left", remaining(batch, total - part)],
    late ? ["Deadline", time(batch.deadlineAt)] : null,
  ]);
}

// A sample shows a percentage, and no number of items: those that are surely done, and that may be, are counted.
const bounds = (low, high, { exact }) =>
  exact ? null : h("div", { class: "soft" }, `${count(low)} surely, ${count(high)} at most`);

function left({ total, progress }) {
  const [least, most] = [total - progress.upperBound, total - progress.acked].map((each) => Math.max(0, each));
  return progress.exact ? count(most) : [`${count(most)} at most`, h("div", { class: "soft" }, `${count(least)} surely`)];
}

const pace = () => (speed() === undefined ? "measuring" : rate(speed()));

function remaining(batch, outstanding) {
  if (batch.state === "OPEN") return h("span", { class: "soft" }, "known once closed");
  const now = speed();
  if (now === undefined || outstanding === 0) return "–";
  return now > 0 ? `≈ ${duration(outstanding / now)}` : "no ack in the last polls";
}

function settings(batch) {
  const at = (text) => (text ? absolute(text) : null);
  const pairs = [
    ["Opened", at(batch.createdAt)],
    ["Closed", at(batch.closedAt)],
    ["Ended", at(batch.completedAt ?? batch.endedAt)],
    ["Ended by", batch.endedBy],
    ["Deadline", at(batch.deadlineAt)],
    ["Kept until", at(batch.expiresAt)],
    ["Mode", batch.mode],
    ["Most failures", limit(batch)],
    ["Enough", enough(batch)],
    ["Most items", batch.maxItems ? count(batch.maxItems) : null],
    ["Callback", batch.callback],
    [
      "Reports at",
      [
        ...(batch.notifyAt ?? []),
        batch.stuckAfterSeconds ? `stuck for ${duration(batch.stuckAfterSeconds)}` : "",
      ]
        .filter(Boolean)
        .join(", "),
    ],
    [
      "Reopened from",
      batch.originBatchId ? link(`#/batches/${batch.originBatchId}`, batch.originBatchId) : null,
    ],
  ];
  const labels = Object.entries(batch.labels ?? {}).map(([key, value]) =>
    link(address("batches", { label: `${key}:${value}` }), `${key}:${value}`, { class: "label" }),
  );
  const links = pairs.filter(([name, value]) => value && name === "Reopened from");
  const rest = pairs.filter(([name, value]) => value && name !== "Reopened from");
  return [
    labels.length ? h("p", {}, labels) : null,
    ...links.map(([name, value]) => h("p", {}, `${name} `, value)),
    h("details", {}, h("summary", {}, "Times and settings"), facts(rest)),
  ];
}

function limit(batch) {
  if (batch.maxFailures !== null && batch.maxFailures !== undefined) return count(batch.maxFailures);
  return batch.maxFailurePercent ? `${batch.maxFailurePercent} %` : null;
}

function enough(batch) {
  const asked = [
    batch.minSucceeded ? count(batch.minSucceeded) : "",
    batch.minSucceededPercent ? `${batch.minSucceededPercent} %` : "",
  ].filter(Boolean);
  if (!asked.length) return null;
  const reached = batch.reached ? `, reached ${count(batch.reached)}` : "";
  return `${asked.join(" or ")} succeeded${reached}`;
}

function drawn(batch, picture, now, context) {
  if (!batch.total)
    return h(
      "div",
      { class: "empty" },
      h("p", {}, "No items yet. This adds some:"),
      h("p", {}, command(`fanin add ${batch.batchId} 10000`)),
    );
  if (picture.failure) return h("p", { class: "note" }, `There is no map: ${picture.failure.message}`);
  return picture.acked.length ? map.draw(picture, now, context.redraw, hasResults(batch)) : null;
}

// What the work of the item returned that is chosen on the map; all of them are read by the command.
function resultOf(batch, result, { query: asked }) {
  if (!hasResults(batch)) return null;
  const all = h("p", { class: "soft" }, "All results: ", command(`fanin results ${batch.batchId}`));
  const shown = result ? h("div", { "aria-live": "polite" }, outcome(result, `item ${count(Number(asked.item))}`)) : null;
  return h("section", {}, h("h2", {}, "Results"), shown, all);
}

function outcome(result, name) {
  if (result.failure) return h("p", { class: "note" }, `The result could not be read: ${result.failure.message}`);
  if (!result.ready) return h("p", { class: "soft" }, "The results are gathered, for the first time…");
  if (!result.item) return h("p", {}, `No result of ${name}: it is not done, or its work returned nothing.`);
  return [
    h("p", {}, `Result of ${name}, `, h("code", { title: result.item.itemId }, nearer(result.item.itemId))),
    h("pre", { tabindex: 0, class: "result" }, JSON.stringify(result.item.result, null, 2)),
  ];
}

// An item id without its batch, which is on the page already.
const nearer = (itemId) => itemId.split(":").slice(1).join(":");

function outstandingOf(batch, outstanding, { refresh }) {
  if (batch.mode !== "exact" || !batch.total || (batch.isComplete && batch.result !== "enough"))
    return null;
  const toggle = (event) => {
    const was = open.id === batch.batchId && open.outstanding;
    Object.assign(open, { id: batch.batchId, outstanding: event.target.open });
    if (event.target.open && !was) refresh();
  };
  return h(
    "details",
    { key: "outstanding", ontoggle: toggle },
    h("summary", {}, "Outstanding: the first ranges"),
    ranges(batch, outstanding),
  );
}

function ranges(batch, outstanding) {
  if (!outstanding) return h("p", { class: "soft" }, "reading…");
  if (outstanding.failure) return h("p", { class: "note" }, outstanding.failure.message);
  if (!outstanding.ranges.length) return h("p", {}, "Nothing is outstanding.");
  const all = outstanding.cursor
    ? h("p", { class: "soft" }, "There are more: ", command(`fanin outstanding ${batch.batchId}`))
    : null;
  return [failures.spans(outstanding.ranges), all];
}

function event(batch) {
  if (!isEnded(batch))
    return h(
      "section",
      {},
      h("h2", {}, "Event"),
      h("p", { class: "soft" }, "None yet: it is sent when the batch ends."),
    );
  if (!batch.event) return null;
  const { type, eventId, confirmed } = batch.event;
  const caption = confirmed ? "confirmed, it is on the bus." : "not confirmed yet; the sweeper sends it again, or ";
  return h(
    "section",
    {},
    h("h2", {}, "Event"),
    h("p", {}, `${type} `, h("code", {}, eventId), ": ", caption, confirmed ? null : command(`fanin notify ${batch.batchId}`)),
  );
}
