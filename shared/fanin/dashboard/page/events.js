// The events on the bus of a local run, newest first.

import { h } from "/dom.js";
import { clock } from "/format.js";
import { empty, link, nameOf, table, time } from "/parts.js";

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
  const columns = [["Event", "name"], ["Batch"], ["Result"], ["Sent"], ["Detail", "reason"]];
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
  const batch = detail.batchId ? link(`#/batches/${detail.batchId}`, nameOf(detail)) : "–";
  const body = h("details", {}, h("summary", {}, "show"), h("pre", {}, JSON.stringify(detail, null, 2)));
  return [detailType, batch, detail.result ?? "–", time(at, clock(new Date(at))), body];
}
