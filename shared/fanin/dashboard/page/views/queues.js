// The work queues, with the counts of the last sweep; then the jobs of one by state, and its sessions.

import { query } from "/api.js";
import { h } from "/elements/dom.js";
import { count, duration } from "/elements/format.js";
import { address, choice, empty, facts, link, pages, table, tag, time } from "/elements/parts.js";

const PAGE = 50;
const STATES = ["queued", "inProgress", "delayed", "dead"];
const NAMES = { queued: "Queued", inProgress: "In progress", delayed: "Delayed", dead: "Dead" };
const NOT_EXACT = { approximate: "≈ ", atLeast: "at least " };
const pathOf = (queue) => `queues/${encodeURIComponent(queue)}`;

const depth = (queue, state) =>
  queue.depth ? `${NOT_EXACT[queue.depth.accuracy] ?? ""}${count(queue.depth[state])}` : "–";
const activity = (queue) => (queue.paused ? tag("paused", "bad") : tag(queue.activity));

export const list = {
  load: ({ query: asked }, ask) => ask(`/v1/queues${query({ limit: PAGE, cursor: asked.cursor })}`),
  draw(found, { query: asked, hash }) {
    const columns = [
      ["Queue", "name"],
      ["State"],
      ["Queued", "n"],
      ["In progress", "n"],
      ["Delayed", "n"],
      ["Dead", "n"],
      ["Oldest", "n"],
      ["Counted"],
    ];
    const rows = found.queues.map((each) => ({
      key: each.queue,
      cells: [
        link(`#/${pathOf(each.queue)}`, each.queue),
        activity(each),
        ...STATES.map((state) => depth(each, state)),
        each.oldestSeconds ? duration(each.oldestSeconds) : "–",
        time(each.countedAt) ?? "now",
      ],
    }));
    const older = found.cursor ? address("queues", { ...asked, cursor: found.cursor }) : null;
    return [
      h("h1", {}, "Work queues"),
      rows.length
        ? table("Work queues", columns, rows)
        : empty("There is no work queue. This creates one with 8 parts:", "fanin queue raise thumbs 8"),
      pages(hash, older),
    ];
  },
};

export const queue = {
  async load({ id, query: asked }, ask) {
    const path = `/v1/queues/${encodeURIComponent(id)}`,
      state = asked.state ?? "queued";
    const [facts, jobs, sessions] = await Promise.all([
      ask(path),
      ask(`${path}/jobs${query({ state, limit: PAGE, cursor: asked.cursor })}`),
      ask(`${path}/sessions?limit=${PAGE}`),
    ]);
    return { facts, jobs, sessions };
  },
  draw({ facts: found, jobs, sessions }, { id, query: asked, hash }) {
    const state = asked.state ?? "queued",
      change = (event) => (location.hash = address(pathOf(id), { state: event.target.value }));
    const older = jobs.cursor ? address(pathOf(id), { ...asked, cursor: jobs.cursor }) : null;
    return [
      h("h1", {}, id),
      card(found),
      h("h2", {}, "Jobs"),
      h("form", { class: "filters" }, choice("job-state", "State", state, Object.entries(NAMES), change)),
      jobs.jobs.length
        ? table("Jobs", JOBS, jobs.jobs.map(job))
        : empty(`No job is ${(NAMES[state] ?? state).toLowerCase()}.`),
      pages(hash, older),
      h("h2", {}, "Sessions"),
      sessions.sessions.length
        ? table("Sessions", SESSIONS, sessions.sessions.map(session))
        : empty("No worker has a session."),
    ];
  },
};

const card = (found) =>
  facts([
    ["State", activity(found)],
    ...STATES.map((state) => [NAMES[state], depth(found, state)]),
    ["Oldest", found.oldestSeconds ? duration(found.oldestSeconds) : "–"],
    [
      "Parts",
      count(found.parts),
      found.target && found.target !== found.parts ? ` of ${count(found.target)}, ${found.phase}` : "",
    ],
    ["Counted", time(found.countedAt) ?? "now"],
  ]);

const JOBS = [
  ["Key", "name"],
  ["Priority", "n"],
  ["Added"],
  ["Waited", "n"],
  ["Deliveries", "n"],
  ["Failures", "n"],
  ["Error", "reason"],
];
const job = (each) => ({
  key: each.jobId,
  cells: [
    h("code", {}, each.key),
    count(each.priority),
    time(each.addedAt),
    duration(each.queuedSeconds),
    count(each.deliveries),
    count(each.failures),
    each.error ?? "",
  ],
});

const SESSIONS = [["Session", "name"], ["Kind"], ["State"], ["Host"], ["Process", "n"], ["Started"]];
const session = (each) => ({
  key: each.id,
  cells: [
    h("code", {}, each.id),
    each.kind,
    each.live ? tag("live", "good") : tag("expired", "bad"),
    each.host,
    String(each.pid),
    time(each.startedAt),
  ],
});
