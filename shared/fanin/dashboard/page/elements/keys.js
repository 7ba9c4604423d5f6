// The keys: all that a mouse does, and a list of them behind `?`.

import { h, patch } from "/elements/dom.js";
import { address } from "/elements/parts.js";

const dialog = document.getElementById("dialog");
const KEYS = [
  ["b, t, q, e", "batches, tasks, queues, events"],
  ["/", "to the filters"],
  ["↑ ↓, Enter", "through the rows of a table; open one"],
  ["n, N", "older, newer rows"],
  ["m, then ← ↑ ↓ →", "to the map, through its cells; Home and End to the first and last"],
  ["Enter", "look into a cell of the map; at a single item, show its result"],
  ["Esc", "out of a cell, then back to the list"],
  ["r", "read again now"],
  ["p", "pause and resume"],
  ["?", "this list"],
];

export function open(title, kids, onclose = null) {
  patch(dialog, [h("h2", { id: "dialog-title" }, title), ...kids]);
  dialog.onclose = () => {
    patch(dialog, []);
    onclose?.();
  };
  dialog.showModal();
}

export const close = () => dialog.close();

function help() {
  const rows = KEYS.map(([key, caption]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, caption)]);
  open("Keys", [
    h("dl", { class: "keys" }, rows),
    h("button", { type: "button", onclick: close }, "Close (Esc)"),
  ]);
}

const first = (selector) => document.querySelector(selector);
const go = (path) => () => (location.hash = `#/${path}`);

// Out of the result of an item, then out of one zoom of a map, else from one thing to its list.
function up({ path, id, query }) {
  const { item, ...window } = query;
  if (id && item !== undefined) {
    location.hash = address(`${path}/${encodeURIComponent(id)}`, window);
    return;
  }
  const { from, up: above = "", ...rest } = window;
  delete rest.to;
  const windows = above.split(".").filter(Boolean),
    [low, high] = (windows.pop() ?? "").split("-");
  const outer = high === undefined ? {} : { from: low, to: high, up: windows.join(".") };
  if (id && from !== undefined)
    location.hash = address(`${path}/${encodeURIComponent(id)}`, { ...rest, ...outer });
  else if (id) location.hash = `#/${path === "bundles" ? "tasks" : path}`;
}

// The focus goes through the first links of the rows; false where there are no rows or the focus is elsewhere.
function move(step) {
  const links = [...document.querySelectorAll("tbody td:first-child a")];
  const at = links.indexOf(document.activeElement);
  const isFree = at >= 0 || document.activeElement === document.body || document.activeElement.id === "main";
  if (!links.length || !isFree) return false;
  links[Math.max(0, Math.min(links.length - 1, at + step))].focus();
  return true;
}

export function listen({ refresh, pause, now }) {
  const does = {
    "b": go("batches"),
    "t": go("tasks"),
    "q": go("queues"),
    "e": go("events"),
    "r": refresh,
    "p": pause,
    "?": help,
    "/": () => first("form input, form select")?.focus(),
    "m": () => first("canvas")?.focus(),
    "n": () => first("a[rel=next]")?.click(),
    "N": () => first("a[rel=prev]")?.click(),
    "Escape": () => up(now()),
    "ArrowDown": () => move(1),
    "ArrowUp": () => move(-1),
  };
  document.getElementById("help").onclick = help;
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || dialog.open) return;
    const isTyping = event.target.matches?.("input, select, textarea");
    if (isTyping && event.key === "Escape") event.target.blur();
    const act = isTyping ? undefined : does[event.key];
    if (act && act() !== false) event.preventDefault();
  });
}
