// The list of batches: 50 a page, newest first. No totals are asked for: counting reads everything.

import { query } from "/api.js";
import { h } from "/elements/dom.js";
import { count, fromInput, short, toInput, zone } from "/elements/format.js";
import { lastAck, look, progressOf } from "/elements/live.js";
import { address, bar, choice, empty, isEnded, link, pages, stateOf, table, time } from "/elements/parts.js";

const PAGE = 50;
const LIVE_ROWS = 20; // whose progress is read at each poll
const STATES = ["OPEN", "CLOSED", "COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT"];
const RUNNING = { OPEN: "OPEN: running, still open", CLOSED: "CLOSED: running" };
const FILTERS = ["condition", "state", "userKey", "userKeyPrefix", "label", "openedFrom", "openedTo"];
const CONDITIONS = [["", "All"], ["live", "Live"], ["problems", "Problems"], ["endedBadly", "Ended badly"]];
const MOST = 100; // batches that are counted in a condition
const COUNTED_MS = 60000;
const counts = { at: -Infinity, read: {} }; // condition -> how many

export async function load({ query: asked }, ask, early) {
  const wanted = Object.fromEntries([...FILTERS, "cursor"].map((name) => [name, asked[name]]));
  const found = await ask(`/v1/batches${query({ limit: PAGE, ...wanted })}`);
  early(found);
  await Promise.all([look(inSight(found.batches.filter((each) => !isEnded(each))), ask, LIVE_ROWS), tally(ask)]);
  return found;
}

// Count the batches of each condition, once a minute; an older API has no conditions.
async function tally(ask) {
  if (performance.now() - counts.at < COUNTED_MS) return;
  const of = (condition) => ask(`/v1/batches${query({ condition, limit: MOST })}`);
  const [live, ended] = await Promise.all([of("live"), of("endedBadly")]).catch((failure) =>
    failure.status === 400 ? [] : Promise.reject(failure),
  );
  counts.at = performance.now();
  if (!live) return;
  const problems = { ...live, batches: live.batches.filter((each) => each.failed || each.isStalled) };
  counts.read = { live: size(live), problems: size(problems), endedBadly: size(ended) };
}

const size = ({ batches, cursor }) => `${batches.length}${cursor ? "+" : ""}`;

// The batches on the screen first.
function inSight(batches) {
  const away = (batch) => {
    const box = document.getElementById(`row-${batch.batchId}`)?.getBoundingClientRect();
    return box && (box.bottom < 0 || box.top > innerHeight) ? 1 : 0;
  };
  return batches
    .map((each) => [away(each), each])
    .sort((one, other) => one[0] - other[0])
    .map(([, each]) => each);
}

export function draw(found, { query: asked, hash }) {
  const isFiltered = FILTERS.some((name) => asked[name]);
  const older = found.cursor ? address("batches", { ...asked, cursor: found.cursor }) : null;
  const rows = found.batches.map((each) => ({ key: each.batchId, cells: cells(each) }));
  const columns = [["Batch", "name"], ["State"], ["Items", "n"], ["Done", "done"], ["Last ack"], ["Opened"]];
  const nothing =
    isFiltered || asked.cursor
      ? empty(found.cursor ? "No batch of this page fits; older ones may." : "No batch fits.")
      : empty(
          "There is no batch yet. This opens one, adds items and closes it:",
          "fanin publish rows.jsonl --queue QUEUE",
        );
  return [
    h("h1", {}, "Batches"),
    conditions(asked),
    filters(asked),
    rows.length ? table("Batches", columns, rows) : nothing,
    pages(hash, older),
  ];
}

const conditions = (asked) =>
  h(
    "nav",
    { "class": "chips", "aria-label": "Conditions" },
    CONDITIONS.map(([name, caption]) =>
      link(address("batches", { condition: name }), [caption, " ", h("b", {}, counts.read[name])], {
        "aria-current": (asked.condition ?? "") === name ? "true" : null,
      }),
    ),
  );

function cells(batch) {
  const labels = Object.entries(batch.labels ?? {}).map(([key, value]) =>
    link(address("batches", { label: `${key}:${value}` }), `${key}:${value}`, { class: "label" }),
  );
  const name = link(`#/batches/${batch.batchId}`, batch.userKey ?? short(batch.batchId), {
    id: `row-${batch.batchId}`,
    title: batch.batchId,
  });
  return [
    [name, labels],
    stateOf(batch),
    count(batch.total),
    share(batch),
    lastAck(batch),
    time(batch.createdAt),
  ];
}

function share(batch) {
  if (batch.result === "enough") return `${count(batch.reached)} succeeded: enough`;
  const failed = batch.failed ? h("span", { class: "bad" }, `${count(batch.failed)} failed`) : null;
  if (batch.isComplete) return ["all", failed ? [", ", failed] : null];
  if (isEnded(batch)) return [failed, failed ? ", " : "", h("span", { class: "soft" }, batch.reason ?? "ended early")];
  const known = progressOf(batch.batchId);
  if (known) return bar(known, batch.total);
  return h(
    "span",
    { class: "soft", title: `progress is read of ${LIVE_ROWS} live batches on the screen` },
    "…",
  );
}

export function filters(asked) {
  const isPrefix = !asked.userKey;
  const more = asked.label || asked.openedFrom || asked.openedTo;
  return h(
    "form",
    { "class": "filters", "onsubmit": submit, "role": "search", "aria-label": "Filters" },
    choice("state", "State", asked.state ?? "", [["", "any"], ...STATES.map((each) => [each, RUNNING[each] ?? each])], submit),
    choice("match", "User key", isPrefix ? "userKeyPrefix" : "userKey", [
      ["userKeyPrefix", "begins with"],
      ["userKey", "is"],
    ]),
    h("input", {
      "id": "key",
      "aria-label": "User key",
      "value": asked.userKey ?? asked.userKeyPrefix ?? "",
      "autocomplete": "off",
    }),
    h(
      "details",
      { open: more ? true : undefined },
      h("summary", {}, "More filters"),
      field("label", "Label", asked.label, { placeholder: "key:value" }),
      field("from", `Opened from (${zone()})`, toInput(asked.openedFrom), { type: "datetime-local" }),
      field("to", "to", toInput(asked.openedTo), { type: "datetime-local" }),
    ),
    h("input", { id: "condition", type: "hidden", value: asked.condition ?? "" }),
    h("button", {}, "Apply"),
    FILTERS.some((name) => asked[name]) ? link("#/batches", "Clear") : null,
  );
}

const field = (id, caption, value, more) =>
  h("label", {}, `${caption} `, h("input", { id, value: value ?? "", autocomplete: "off", ...more }));

function submit(event) {
  event.preventDefault();
  const said = (id) => document.getElementById(id).value.trim();
  location.hash = address("batches", {
    condition: said("condition"),
    state: said("state"),
    [said("match")]: said("key"),
    label: said("label"),
    openedFrom: fromInput(said("from")),
    openedTo: fromInput(said("to")),
  });
}
