// One batch: its card, the map of its items, what failed, what is outstanding, and its ending event.

import { query } from "/api.js";
import { h } from "/dom.js";
import { absolute, count, duration, percent, rate } from "/format.js";
import * as map from "/map.js";
import { address, bar, done, facts, isEnded, link, nameOf, stateOf, table, time } from "/parts.js";
import { buttons } from "/writes.js";

const SAMPLES = 20,
  RANGES = 50,
  CHILDREN = 20,
  REASONS = 128;
const RATE_SECONDS = 30;
const seen = { id: "", points: [] }; // [seconds, done] of the last polls
const open = { id: "", outstanding: false };

export async function load({ id, query: asked }, ask) {
  const path = `/v1/batches/${encodeURIComponent(id)}`;
  const later = (wanted) => wanted.catch((failure) => ({ failure }));
  const window = { from: asked.from, to: asked.to };
  const [batch, picture] = await Promise.all([ask(path), later(ask(`${path}/map${query(window)}`))]);
  remember(batch);
  const hasItems = batch.mode === "exact" && batch.total > 0;
  const isAsked = asked.item !== undefined && hasResults(batch);
  const [failures, outstanding, children, result] = await Promise.all([
    hasItems && batch.progress?.failed ? later(ask(`${path}/failures?limit=${SAMPLES}`)) : null,
    hasItems && open.id === id && open.outstanding ? later(ask(`${path}/outstanding?limit=${RANGES}`)) : null,
    hasItems ? later(ask(`${path}/children?limit=${CHILDREN}`)) : null,
    isAsked ? later(ask(`${path}/results${query({ position: asked.item })}`)) : null,
  ]);
  return { batch, picture, failures, outstanding, children, result };
}

// An ended batch is read until its event is confirmed, and the result that is shown is gathered.
export const isOver = ({ batch, result }) =>
  isEnded(batch) && (!batch.event || batch.event.confirmed) && result?.ready !== false;

const hasResults = (batch) => batch.results && isEnded(batch);

function remember(batch) {
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

export function draw({ batch, picture, failures, outstanding, children, result }, now, context) {
  return [
    h("h1", {}, nameOf(batch)),
    subtitle(batch),
    buttons(batch, context),
    card(batch),
    settings(batch),
    drawn(batch, picture, now, context),
    resultOf(batch, result, now),
    below(batch, children),
    failed(batch, failures),
    left(batch, outstanding, context),
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
    part = Math.min(done(progress), total),
    about = progress.exact ? "" : "≈ ";
  const bounds = progress.exact ? null : `between ${count(progress.acked)} and ${count(progress.upperBound)}`;
  const late = batch.deadlineAt && !isEnded(batch);
  return facts([
    ["State", stateOf(batch), batch.reason ? h("span", { class: "soft beside" }, batch.reason) : null],
    ["Done", h("span", { title: bounds }, bar({ ...progress, failed: 0 }, total))],
    ["Items", count(total), batch.expectedItems ? ` of ${count(batch.expectedItems)} expected` : ""],
    ["Outstanding", about, count(Math.max(0, total - part))],
    ["Failed", h("span", { class: progress.failed ? "bad" : "" }, count(progress.failed))],
    isEnded(batch) ? null : ["Rate", pace()],
    isEnded(batch) ? null : ["Time left", remaining(batch, total - part)],
    late ? ["Deadline", time(batch.deadlineAt)] : null,
  ]);
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
  const parent = batch.parentItemId;
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
    ["Parent item", parent ? link(`#/batches/${parent.split(":")[0]}`, parent) : null],
    [
      "Reopened from",
      batch.originBatchId ? link(`#/batches/${batch.originBatchId}`, batch.originBatchId) : null,
    ],
  ];
  const labels = Object.entries(batch.labels ?? {}).map(([key, value]) =>
    link(address("batches", { label: `${key}:${value}` }), `${key}:${value}`, { class: "label" }),
  );
  const links = pairs.filter(
    ([name, value]) => value && (name === "Parent item" || name === "Reopened from"),
  );
  const rest = pairs.filter(([name, value]) => value && name !== "Parent item" && name !== "Reopened from");
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
      h("p", {}, h("code", {}, `fanin add ${batch.batchId} 10000`)),
    );
  if (picture.failure) return h("p", { class: "note" }, `There is no map: ${picture.failure.message}`);
  return picture.acked.length ? map.draw(picture, now, context.redraw, hasResults(batch)) : null;
}

// What the work of the item returned that is chosen on the map; all of them are read by the command.
function resultOf(batch, result, { query: asked }) {
  if (!hasResults(batch)) return null;
  const all = h("p", { class: "soft" }, "All results: ", h("code", {}, `fanin results ${batch.batchId}`));
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

// The batches that items wait for, and those that failed their items. An older API has no such list.
function below(batch, children) {
  if (!children || children.failure?.status === 404) return null;
  if (children.failure)
    return h("p", { class: "note" }, `The children could not be read: ${children.failure.message}`);
  const rows = children.batches.slice(0, CHILDREN).map((each) => ({
    key: each.batchId,
    cells: [
      h("code", { title: each.parentItemId }, nearer(each.parentItemId)),
      link(`#/batches/${each.batchId}`, nameOf(each)),
      stateOf(each),
      count(each.total),
    ],
  }));
  if (!rows.length) return null;
  const columns = [["Item", "name"], ["Batch", "name"], ["State"], ["Items", "n"]];
  const all = h("p", { class: "soft" }, "There are more: ", h("code", {}, `fanin children ${batch.batchId}`));
  const isAll = !children.cursor && children.batches.length <= CHILDREN;
  return h("section", {}, h("h2", {}, "Children"), table("Children", columns, rows), isAll ? null : all);
}

function failed(batch, failures) {
  if (!failures) return null;
  if (failures.failure)
    return h("p", { class: "note" }, `The failures could not be read: ${failures.failure.message}`);
  const rows = failures.samples.slice(0, SAMPLES).map((each) => ({
    key: each.itemId,
    cells: [h("code", { title: each.itemId }, nearer(each.itemId)), each.reason, time(each.at)],
  }));
  const all = `fanin failures ${batch.batchId} --reasons`;
  return h(
    "section",
    {},
    h("h2", {}, "Failures"),
    rows.length
      ? table("Failures", [["Item", "name"], ["Reason", "reason"], ["When"]], rows)
      : spans(batch, failures.ranges),
    h(
      "p",
      { class: "soft" },
      `The first failures, with reasons of ${REASONS} items at most. All of them: `,
      h("code", {}, all),
    ),
  );
}

// An item id without its batch, which is on the page already.
const nearer = (itemId) => itemId.split(":").slice(1).join(":");

function spans(batch, ranges) {
  const rows = ranges.slice(0, RANGES).map((each) => ({
    key: `${each.groupId}:${each.from}`,
    cells: [
      h(
        "code",
        {},
        each.from === each.to ? `${each.groupId}:${each.from}` : `${each.groupId}:${each.from}-${each.to}`,
      ),
      count(each.to - each.from + 1),
    ],
  }));
  return table(
    "Ranges",
    [
      ["Group and range", "name"],
      ["Items", "n"],
    ],
    rows,
  );
}

function left(batch, outstanding, { refresh }) {
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
    ? h("p", { class: "soft" }, "There are more: ", h("code", {}, `fanin outstanding ${batch.batchId}`))
    : null;
  return [spans(batch, outstanding.ranges), all];
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
  const caption = confirmed ? "confirmed, it is on the bus" : "not confirmed yet; the sweeper sends it again";
  return h(
    "section",
    {},
    h("h2", {}, "Event"),
    h("p", {}, `${type} `, h("code", {}, eventId), ": ", caption),
  );
}
