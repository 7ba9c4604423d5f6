// The page: which view the address names, when it is read again, and what is shown when it cannot be read.

import { advice, ask, Failure } from "/api.js";
import * as batch from "/views/batch.js";
import * as batches from "/views/batches.js";
import { h, patch } from "/elements/dom.js";
import * as events from "/views/events.js";
import { clock, zone } from "/elements/format.js";
import { listen } from "/elements/keys.js";
import { FOLLOWED, pause, SLOWER } from "/poll.js";
import * as queues from "/views/queues.js";
import { follow, leave } from "/stream.js";
import * as tasks from "/views/tasks.js";

const VIEWS = [
  { path: "batches", name: "Batches", list: batches, one: batch },
  { path: "tasks", name: "Tasks", list: tasks.targets, one: tasks.target },
  { path: "bundles", one: tasks.bundle },
  { path: "queues", name: "Queues", list: queues.list, one: queues.queue },
  { path: "events", name: "Events", list: events },
];
const $ = (id) => document.getElementById(id);
const page = {
  facts: {}, // of the dashboard: where the API is, and whether writes are allowed
  shown: "",
  data: null,
  read: null, // the address that is shown, its data, and when that was read
  failure: null,
  failures: 0, // of the last reads, in a row
  paused: false,
  turn: 0,
  timer: 0,
  stop: null, // of the polls
  isLoading: false,
  next: 0, // the time from which it may load again, by performance.now
  whole: 0, // the time at which all of the view was read last
  look: null, // the last one of the stream
  known: null, // the one for which what is shown was read
};

// The address as {path, id, query, view, hash}; whatever is not known is the list of batches.
function route() {
  const hash = location.hash || "#/batches";
  const [where, text = ""] = hash.slice(2).split("?");
  const [path, ...rest] = where.split("/");
  const found = VIEWS.find((view) => view.path === path) ?? VIEWS[0];
  const id = readable(rest.join("/"));
  const view = (id && found.one) || found.list || found.one;
  return { path: found.path, id, query: Object.fromEntries(new URLSearchParams(text)), view, hash };
}

function readable(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const refresh = () => load(null);

// Read the view; *seen*: the look of the stream that found something new.
async function load(seen) {
  clearTimeout(page.timer);
  page.stop?.abort();
  Object.assign(page, { stop: new AbortController(), isLoading: true, known: page.look });
  const { signal } = page.stop,
    mine = ++page.turn,
    now = route(),
    began = performance.now();
  const reader = (path) => ask(path, signal);
  const early = (data) => mine === page.turn && show(now, data);
  try {
    const data = await now.view.load(now, reader, early, seen && { ...page.data, look: seen });
    if (mine !== page.turn) return;
    Object.assign(page, { failures: 0, failure: null, read: new Date(), isLoading: false });
    show(now, data);
    if (!seen) page.whole = began;
    again(performance.now() - began);
  } catch (error) {
    if (mine === page.turn) fail(now, error, performance.now() - began);
  }
}

// Slow answers are asked for less often, failures ever less often; a hidden or paused page asks for nothing.
function again(milliseconds) {
  page.next = performance.now() + SLOWER * milliseconds;
  const { view } = route(),
    isOver = !page.failure && view.isOver?.(page.data);
  if (page.paused || document.hidden || isOver) return stop();
  const isFollowed = follow((!page.failure && view.stream?.(page.data)) || "", look, refresh);
  const asked = page.data?.batch?.retryAfterSeconds;
  const seconds = isFollowed ? FOLLOWED - age() : pause(asked, milliseconds / 1000, page.failures, Math.random());
  page.timer = setTimeout(refresh, 1000 * seconds);
}

// What a look of the stream finds new is read at once, but no sooner than slow answers allow.
function look(seen) {
  page.look = seen;
  if (page.isLoading) return;
  const { view } = route();
  page.known ??= seen;
  if (view.isNews(page.data, seen, page.known)) {
    clearTimeout(page.timer);
    const part = () => load(age() < FOLLOWED ? page.look : null);
    page.timer = setTimeout(part, Math.max(0, page.next - performance.now()));
    return;
  }
  page.read = new Date();
  view.still(page.data);
  draw();
}

const age = () => (performance.now() - page.whole) / 1000;

function stop() {
  clearTimeout(page.timer);
  leave();
  page.look = page.known = null;
}

function fail(now, error, milliseconds) {
  const failure =
    error instanceof Failure ? error : new Failure(0, "defect", "The page failed", String(error));
  const isKnown = page.shown === now.hash && page.data;
  if (!isKnown) Object.assign(page, { data: null, read: null });
  Object.assign(page, { failures: page.failures + 1, failure, shown: now.hash, isLoading: false });
  draw(now);
  const isFinal = failure.status >= 400 && failure.status < 500 && failure.status !== 429;
  if (isFinal) stop();
  else again(milliseconds);
}

function show(now, data) {
  page.data = data;
  const moved = place(page.shown) !== place(now.hash);
  page.shown = now.hash;
  draw(now);
  if (moved) {
    scrollTo(0, 0);
    $("main").focus({ preventScroll: true });
  }
}

const place = (hash) => hash.split("?")[0];

function draw(now = route()) {
  const views = VIEWS.filter((view) => view.name).map((view) =>
    h("a", { "href": `#/${view.path}`, "aria-current": view.path === now.path ? "page" : null }, view.name),
  );
  patch($("views"), views);
  const context = { redraw: () => draw(), refresh, facts: page.facts };
  const filters = page.failure?.status === 400 ? now.view.filters?.(now.query) : null; // they may be what is wrong
  const body = page.data ? now.view.draw(page.data, now, context) : [filters];
  patch($("main"), [
    note(page.failure),
    h("div", { key: place(now.hash), class: page.failure ? "old" : "" }, body),
  ]);
  document.title = `${now.id || now.path} · fanin`;
  status();
}

// What went wrong, and what to do: above the last good data, or in place of it.
function note(failure) {
  if (!failure) return null;
  const title = page.data ? h("p", {}, h("b", {}, failure.title)) : h("h1", {}, failure.title);
  return h(
    "div",
    { key: "note", class: "note", role: "alert" },
    title,
    failure.message === failure.title ? null : h("p", {}, failure.message),
    h("p", {}, advice(failure)),
  );
}

function status() {
  const at = page.read ? `as of ${clock(page.read)}` : "";
  const caption = page.failure ? ["not current", page.read ? `, ${at}` : ""] : [at];
  patch($("status"), [...caption, page.paused ? " · paused" : ""].filter(Boolean));
  $("status").className = page.failure ? "bad" : "";
  patch($("foot"), [
    `Times are of this browser's zone, ${zone()}; point at one for its date. Press ? for the keys.`,
  ]);
  patch($("where"), [page.facts.name || page.facts.api || ""]);
  $("where").title = page.facts.api ?? "";
}

function toggle() {
  page.paused = !page.paused;
  $("pause").setAttribute("aria-pressed", page.paused);
  $("pause").textContent = page.paused ? "Resume" : "Pause";
  if (page.paused) stop();
  else refresh();
  status();
}

async function begin() {
  $("pause").onclick = toggle;
  listen({ refresh, pause: toggle, now: route });
  addEventListener("hashchange", () => {
    stop();
    refresh();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop();
    else if (!page.paused) refresh();
  });
  page.facts = await ask("/facts").catch(() => ({})); // the first view says why
  refresh();
}

begin();
