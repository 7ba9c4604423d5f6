// The events on the bus of a local run, newest first.

import { h } from "/elements/dom.js";
import { clock, count } from "/elements/format.js";
import { empty, link, nameOf, table, time } from "/elements/parts.js";

const KEPT = 500;

export const load = async (_, ask) =>
  ask("/events").catch((failure) => (failure.status === 404 ? {} : Promise.reject(failure)));
export const isOver = (found) => !found.events;

export function draw(found) {
  const title = h("h1", {}, "Events");
  if (!found.events) {
    return [
      title,
      empty(
        "Events of a stack on AWS are on its event bus, which this page does not read. The page of a batch shows its ending event.",
        "fanin dashboard --url http://127.0.0.1:8787",
      ),
    ];
  }
  if (!found.events.length)
    return [
      title,
      empty("The local run has sent no event yet. A batch sends one when it ends:", "fanin close BATCH"),
    ];
  const columns = [["Event"], ["Of", "name"], ["Result", "reason"], ["Sent"], ["Id"]];
  const rows = [...found.events]
    .reverse()
    .map((each, at) => ({ key: `${found.events.length - at} ${each.time}`, cells: cells(each) }));
  return [
    title,
    h(
      "p",
      { class: "soft" },
      `The last ${KEPT} on the bus of this local run; an event can be there twice.`,
    ),
    table("Events", columns, rows),
  ];
}

function cells({ time: at, detailType, detail = {} }) {
  const id = detail.eventId ? h("code", { class: "id" }, detail.eventId) : "show";
  const body = h("details", {}, h("summary", {}, id), h("pre", {}, JSON.stringify(detail, null, 2)));
  return [detailType, subject(detail), outcome(detail), time(at, clock(new Date(at))), body];
}

// What an event is about: a batch, a task of a target, or a bundle.
function subject(detail) {
  if (detail.batchId) return link(`#/batches/${detail.batchId}`, nameOf(detail));
  if (detail.queue) return link(`#/queues/${encodeURIComponent(detail.queue)}?state=dead`, h("code", {}, detail.key));
  const id = detail.taskId ?? detail.bundleId;
  if (!id) return "–";
  const name = h("code", {}, id);
  return detail.target ? link(`#/tasks/${encodeURIComponent(detail.target)}`, name) : name;
}

// The result, the reason, and how many failed, as far as the event has them.
function outcome({ result, threshold, state, reason, error, failed, total, tasks }) {
  const numbers = failed ? h("span", { class: "bad" }, `${count(failed)} of ${count(total ?? tasks)} failed`) : null;
  const said = [(result ?? threshold ?? state)?.replaceAll("_", " "), reason ?? error, numbers].filter(Boolean);
  return said.length ? said.map((each, at) => [at ? ", " : "", each]) : "–";
}
