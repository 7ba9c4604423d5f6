// Parts that several views share.

import { h } from "/elements/dom.js";
import { absolute, ago, count, percent } from "/elements/format.js";

export const time = (text, caption = ago(text)) =>
  text ? h("time", { datetime: text, title: absolute(text) }, caption) : null;

const LIVE = new Set(["OPEN", "CLOSED"]);
const ENDED = new Set(["COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT", "EXPIRED"]);
const GOOD = new Set(["COMPLETE", "succeeded", "enough"]);

// A state of a newer API counts as live until the batch has an end.
export const isEnded = (batch) =>
  ENDED.has(batch.state) || (!LIVE.has(batch.state) && Boolean(batch.endedAt ?? batch.completedAt));

const RUNNING = { OPEN: "running, still open", CLOSED: "running" };

// A live batch is running, whether items may still be added (OPEN) or not (CLOSED).
export function stateOf(batch) {
  const said = batch.result ?? batch.state;
  if (!isEnded(batch)) return tag(RUNNING[said] ?? said, "live", said);
  return tag(said.replaceAll("_", " "), GOOD.has(said) ? "good" : "bad", said);
}

export const tag = (caption, tone = "live", title = null) =>
  h("span", { class: `state ${tone}`, title }, caption);

// A command to copy; it breaks at its blanks alone.
export const command = (text) =>
  h(
    "code",
    { class: "command" },
    text.split(" ").map((part, at) => [at ? " " : "", h("span", {}, part)]),
  );

export const nameOf = (batch) => batch.userKey ?? batch.batchId;

export const done = (progress) => (progress.exact ? progress.acked : (progress.estimate ?? progress.acked));

export function bar(progress, total) {
  const part = Math.min(done(progress), total);
  const share = percent(part, total);
  const caption = progress.exact || share.startsWith("under") ? share : `≈ ${share}`;
  const failed = progress.failed ? h("span", { class: "bad" }, `, ${count(progress.failed)} failed`) : null;
  return [
    h("progress", { "max": Math.max(1, total), "value": part, "aria-label": `${caption} done` }),
    h("span", { class: "beside" }, caption, failed),
  ];
}

// columns: [heading, class]; rows: {key, cells}. On a narrow screen a row becomes a card, so roles are explicit.
export function table(label, columns, rows) {
  const heads = columns.map(([name, kind]) =>
    h("th", { scope: "col", role: "columnheader", class: kind }, name),
  );
  const body = rows.map(({ key, cells }) =>
    h(
      "tr",
      { key, role: "row" },
      cells.map((cell, at) =>
        h("td", { "role": "cell", "class": columns[at][1], "data-label": columns[at][0] }, cell),
      ),
    ),
  );
  return h(
    "table",
    { "role": "table", "aria-label": label },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)),
    h("tbody", { role: "rowgroup" }, body),
  );
}

export const facts = (pairs) =>
  h(
    "dl",
    { class: "facts" },
    pairs
      .filter(Boolean)
      .map(([name, ...value]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value))),
  );

export const empty = (caption, said, ...more) =>
  h(
    "div",
    { class: "empty" },
    h("p", {}, caption),
    said ? h("p", {}, command(said)) : null,
    more,
  );

export const link = (href, caption, props = {}) => h("a", { href, ...props }, caption);

// Links to the older and, if this page of the browser knows them, the newer rows.
const before = new Map(); // address of an older page -> the address that it was reached from

export function pages(here, older) {
  if (older) before.set(older, here);
  const newer = before.get(here) ?? (here.includes("cursor=") ? here.replace(/(?<=[?&])cursor=[^&]*&?/, "").replace(/[?&]$/, "") : null);
  const caption = before.has(here) ? "Newer (N)" : "Newest (N)";
  return h(
    "p",
    { class: "pages" },
    newer ? link(newer, caption, { rel: "prev" }) : null,
    older ? link(older, "Older (n)", { rel: "next" }) : null,
  );
}

export const address = (path, values = {}) => {
  const given = Object.entries(values).filter(
    ([, value]) => value !== "" && value !== undefined && value !== null,
  );
  return `#/${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
};

export const choice = (id, label, value, options, onchange) =>
  h(
    "label",
    {},
    `${label} `,
    h(
      "select",
      { id, value, onchange },
      options.map(([name, caption]) => h("option", { value: name, selected: name === value }, caption)),
    ),
  );
