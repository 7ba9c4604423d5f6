// The items of a batch as cells of a canvas, 64 in a row, fewer where they are tapped: the shade is the share that is done, a corner marks
// failures. The size of the batch changes only how many items a cell has.

import { h } from "/elements/dom.js";
import { count, percent } from "/elements/format.js";
import { address, link } from "/elements/parts.js";

const COLUMNS = 64;
const LARGEST = 16,
  SMALLEST = 4, // pixels of a cell's side
  TAPPED = 28, // of one that a finger hits
  TAPPED_ROWS = 12;
const byFinger = matchMedia("(max-width: 44rem), (pointer: coarse)");
const room = () => document.getElementById("main").clientWidth - 24;
const columns = () =>
  byFinger.matches ? Math.max(8, Math.min(COLUMNS, Math.floor(room() / TAPPED))) : COLUMNS;

// How many cells to ask for: as many as the API has, or fewer and larger ones where they are tapped.
export const cells = () => (byFinger.matches ? columns() * TAPPED_ROWS : undefined);

const cursor = { window: "", cell: -1 };

const sizeOf = (map, cell) => Math.min(map.cellItems, map.to - map.from - cell * map.cellItems);
const firstOf = (map, cell) => map.from + cell * map.cellItems;
const sum = (values) => values.reduce((all, each) => all + each, 0);
const few = (map, part, size) => {
  const share = percent(Math.min(part, size), size);
  return `${map.exact || share.startsWith("under") ? "" : "about "}${share} done`;
};

export function describe(map, cell) {
  const low = firstOf(map, cell),
    size = sizeOf(map, cell);
  const items = size === 1 ? `item ${count(low)}` : `items ${count(low)} to ${count(low + size - 1)}`;
  return `${items}: ${few(map, map.acked[cell], size)}${map.failed[cell] ? ", some failed" : ""}`;
}

function summary(map) {
  const failed = map.failed.filter(Boolean).length,
    size = map.to - map.from;
  const cells = failed
    ? `${count(failed)} of ${count(map.failed.length)} cells hold failures`
    : "no failures";
  return `items ${count(map.from)} to ${count(map.to - 1)}: ${few(map, sum(map.acked), size)}, ${cells}`;
}

export function draw(map, now, redraw, hasResults) {
  const window = `${now.id} ${map.from} ${map.to}`;
  if (cursor.window !== window) Object.assign(cursor, { window, cell: -1 });
  cursor.cell = Math.min(cursor.cell, map.acked.length - 1);
  const read = cursor.cell < 0 ? "" : describe(map, cursor.cell);
  const point = (cell) => {
    cursor.cell = Math.max(0, Math.min(map.acked.length - 1, cell));
    redraw();
  };
  const opens = map.cellItems > 1 ? inside : hasResults ? result : null;
  const zoom = () => cursor.cell >= 0 && opens && (location.hash = opens(map, now, cursor.cell));
  return h(
    "section",
    { "aria-labelledby": "map-title" },
    h("h2", { id: "map-title" }, "Items"),
    where(map, now),
    h("canvas", {
      "key": "map",
      "tabindex": 0,
      "role": "application",
      "aria-label": `Map of the batch, ${summary(map)}. Arrows choose a cell, Enter looks into it.`,
      "after": (canvas) => paint(canvas, map),
      "onkeydown": (event) => pressed(event, map, point, zoom),
      "onpointermove": (event) => event.pointerType === "mouse" && point(under(event, map)),
      "onclick": (event) => (point(under(event, map)), zoom()),
      "onfocus": () => cursor.cell < 0 && point(0),
    }),
    h("p", { "class": "cell", "aria-live": "polite" }, read || summary(map)),
    legend(map, hasResults),
    rows(map),
  );
}

function where(map, now) {
  if (now.query.from === undefined) return null;
  return h(
    "p",
    {},
    `Items ${count(map.from)} to ${count(map.to - 1)} · `,
    link(`#/batches/${now.id}`, "whole batch"),
    h("span", { class: "soft" }, " (Esc: one step out)"),
  );
}

// The address of one cell; `up` remembers the windows around it.
function inside(map, now, cell) {
  const low = firstOf(map, cell),
    { from, to, up = "" } = now.query;
  const above = [up, from === undefined ? "" : `${from}-${to}`].filter(Boolean).join(".");
  return address(`batches/${now.id}`, { from: low, to: low + sizeOf(map, cell), up: above });
}

// The address of the result of one item.
const result = (map, now, cell) =>
  address(`batches/${now.id}`, { ...now.query, item: firstOf(map, cell) });

function pressed(event, map, point, zoom) {
  const last = map.acked.length - 1,
    here = cursor.cell;
  const to = {
    ArrowRight: here + 1,
    ArrowLeft: here - 1,
    ArrowDown: here + columns() > last ? here : here + columns(),
    ArrowUp: here < columns() ? here : here - columns(),
    Home: 0,
    End: last,
  }[event.key];
  if (to !== undefined) point(to);
  else if (event.key === "Enter") zoom();
  else return;
  event.preventDefault();
}

const across = (map) => Math.min(columns(), map.acked.length);

function under(event, map) {
  const box = event.currentTarget.getBoundingClientRect(),
    wide = across(map);
  const column = Math.floor(((event.clientX - box.left) / box.width) * wide);
  const row = Math.floor(((event.clientY - box.top) / box.height) * Math.ceil(map.acked.length / wide));
  return row * wide + Math.min(wide - 1, column);
}

function paint(canvas, map) {
  const wide = across(map),
    many = map.acked.length,
    scale = devicePixelRatio || 1;
  const given = canvas.parentElement?.clientWidth || COLUMNS * 12;
  const largest = byFinger.matches ? 2 * TAPPED : LARGEST;
  const side = Math.max(SMALLEST, Math.min(largest, Math.floor(given / columns())));
  const width = wide * side,
    height = Math.ceil(many / wide) * side;
  Object.assign(canvas, { width: width * scale, height: height * scale });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const style = getComputedStyle(document.documentElement);
  const colours = Object.fromEntries(
    ["done", "none", "bad", "paper", "ink"].map((name) => [name, style.getPropertyValue(`--${name}`)]),
  );
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  for (let cell = 0; cell < many; cell++) {
    fill(pen, (cell % wide) * side, Math.floor(cell / wide) * side, side, map, cell, colours);
  }
  if (cursor.cell >= 0)
    frame(pen, (cursor.cell % wide) * side, Math.floor(cursor.cell / wide) * side, side, colours);
}

function fill(pen, x, y, side, map, cell, colours) {
  const inner = side - 1,
    share = Math.max(0, Math.min(1, map.acked[cell] / sizeOf(map, cell)));
  pen.fillStyle = colours.none;
  pen.fillRect(x, y, inner, inner);
  pen.globalAlpha = share === 1 ? 1 : share > 0 ? 0.1 + share * 0.65 : 0; // complete stands out
  pen.fillStyle = colours.done;
  pen.fillRect(x, y, inner, inner);
  pen.globalAlpha = 1;
  if (map.failed[cell]) {
    corner(pen, x, y, Math.ceil(inner * 0.85) + 1, colours.paper); // an edge, for contrast with any shade
    corner(pen, x, y, Math.ceil(inner * 0.65), colours.bad);
  }
}

function corner(pen, x, y, size, colour) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x + size, y);
  pen.lineTo(x, y + size);
  pen.fill();
}

function frame(pen, x, y, side, colours) {
  pen.lineWidth = 2;
  pen.strokeStyle = colours.paper;
  pen.strokeRect(x + 1.5, y + 1.5, side - 4, side - 4);
  pen.strokeStyle = colours.ink;
  pen.strokeRect(x - 0.5, y - 0.5, side, side);
}

function legend(map, hasResults) {
  const cell = map.cellItems === 1 ? "A cell is one item" : `A cell is ${count(map.cellItems)} items`;
  const shade = map.cellItems === 1 ? "full colour: done" : "the fuller its colour, the more are done";
  const shows = hasResults ? " · Enter, a click or a tap shows its result" : "";
  const zoom = map.cellItems === 1 ? shows : " · Enter, a click or a tap looks into it";
  const sampled = map.exact ? "" : " · shades are estimates from a part of the pages";
  return h("p", { class: "soft" }, `${cell}: ${shade}; a red corner marks failures${zoom}${sampled}`);
}

function rows(map) {
  const body = [];
  for (let first = 0; first < map.acked.length; first += COLUMNS) body.push(row(map, first));
  return h(
    "details",
    { class: "as-table" },
    h("summary", {}, "The map as a table"),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Items", "Done", "Cells with failures"].map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h("tbody", {}, body),
    ),
  );
}

function row(map, first) {
  const last = Math.min(first + COLUMNS, map.acked.length) - 1;
  const low = firstOf(map, first),
    high = firstOf(map, last) + sizeOf(map, last);
  const done = sum(map.acked.slice(first, last + 1)),
    failed = map.failed.slice(first, last + 1).filter(Boolean).length;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, `${count(low)} to ${count(high - 1)}`),
    h("td", {}, few(map, done, high - low)),
    h("td", {}, failed ? count(failed) : "none"),
  );
}
