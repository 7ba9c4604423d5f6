// The list of batches: 50 a page, newest first. No totals are asked for: counting reads everything.

import { query } from "/api.js";
import { h } from "/dom.js";
import { count, fromInput, percent, short, toInput, zone } from "/format.js";
import { address, bar, choice, empty, isEnded, link, nameOf, pages, stateOf, table, time } from "/parts.js";

const PAGE = 50;
const LIVE_ROWS = 20; // whose progress is read at each poll
const STATES = ["OPEN", "CLOSED", "COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT"];
const FILTERS = ["state", "userKey", "userKeyPrefix", "label", "openedFrom", "openedTo"];
const progress = new Map(); // batch id -> its last progress

export async function load({ query: asked }, ask, early) {
  const wanted = Object.fromEntries([...FILTERS, "cursor"].map((name) => [name, asked[name]]));
  const found = await ask(`/v1/batches${query({ limit: PAGE, ...wanted })}`);
  early(found);
  await Promise.all(
    inSight(found.batches.filter((each) => !isEnded(each))).map(async ({ batchId }) => {
      const read = await ask(`/v1/batches/${batchId}`).catch((error) =>
        error.status === 404 ? {} : Promise.reject(error),
      );
      if (read.progress) progress.set(batchId, read.progress);
    }),
  );
  keepOnly(found.batches);
  return found;
}

// At most LIVE_ROWS of the batches, those on the screen first.
function inSight(batches) {
  const away = (batch) => {
    const box = document.getElementById(`row-${batch.batchId}`)?.getBoundingClientRect();
    return box && (box.bottom < 0 || box.top > innerHeight) ? 1 : 0;
  };
  return batches
    .map((each) => [away(each), each])
    .sort((one, other) => one[0] - other[0])
    .slice(0, LIVE_ROWS)
    .map(([, each]) => each);
}

function keepOnly(batches) {
  const ids = new Set(batches.map((each) => each.batchId));
  for (const id of progress.keys()) if (!ids.has(id)) progress.delete(id);
}

export function draw(found, { query: asked, hash }) {
  const isFiltered = FILTERS.some((name) => asked[name]);
  const older = found.cursor ? address("batches", { ...asked, cursor: found.cursor }) : null;
  const rows = found.batches.map((each) => ({ key: each.batchId, cells: cells(each) }));
  const columns = [["Batch", "name"], ["State"], ["Items", "n"], ["Done", "done"], ["Opened"]];
  const nothing =
    isFiltered || asked.cursor
      ? empty(found.cursor ? "No batch of this page fits; older ones may." : "No batch fits.")
      : empty(
          "There is no batch yet. This opens one, adds items and closes it:",
          "fanin publish rows.jsonl --queue QUEUE",
        );
  return [
    h("h1", {}, "Batches"),
    filters(asked),
    rows.length ? table("Batches", columns, rows) : nothing,
    pages(hash, older),
  ];
}

function cells(batch) {
  const labels = Object.entries(batch.labels ?? {}).map(([key, value]) =>
    link(address("batches", { label: `${key}:${value}` }), `${key}:${value}`, { class: "label" }),
  );
  const name = link(`#/batches/${batch.batchId}`, batch.userKey ?? short(batch.batchId), {
    id: `row-${batch.batchId}`,
    title: batch.batchId,
  });
  return [[name, labels], stateOf(batch), count(batch.total), share(batch), time(batch.createdAt)];
}

function share(batch) {
  if (batch.result === "enough") return `${count(batch.reached)} succeeded: enough`;
  if (batch.isComplete) return batch.result === "completed_with_failures" ? "all, some failed" : "all";
  if (isEnded(batch)) return h("span", { class: "soft" }, batch.reason ?? "ended early");
  const known = progress.get(batch.batchId);
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
    choice("state", "State", asked.state ?? "", [["", "any"], ...STATES.map((each) => [each, each])], submit),
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
    state: said("state"),
    [said("match")]: said("key"),
    label: said("label"),
    openedFrom: fromInput(said("from")),
    openedTo: fromInput(said("to")),
  });
}
