// The group-batcher: targets, then the bundles and tasks of one, then one bundle.

import { query } from "/api.js";
import { h } from "/elements/dom.js";
import { count, rate } from "/elements/format.js";
import { address, choice, empty, facts, link, pages, table, tag, time } from "/elements/parts.js";

const PAGE = 50,
  FEW = 10; // tasks of each state, and targets whose failed tasks are counted
const BAD = new Set(["FAILED", "DEAD"]),
  GOOD = new Set(["SUCCEEDED", "DONE"]);
const STATES = ["CREATED", "BUNDLED", "IN_PROGRESS", "SUCCEEDED", "FAILED", "DEAD"];
const stateTag = (state) => tag(state, BAD.has(state) ? "bad" : GOOD.has(state) ? "good" : "live");
const FIRST = ["DEAD", "FAILED", "IN_PROGRESS", "BUNDLED", "CREATED", "SUCCEEDED"]; // what needs a look comes first
const pathOf = (target) => `tasks/${encodeURIComponent(target)}`;

export const targets = {
  async load({ query: asked }, ask, early) {
    const found = await ask(`/v1/targets${query({ limit: PAGE, cursor: asked.cursor })}`);
    early(found);
    const some = found.targets.slice(0, FEW).map(async (each) => [each.target, await failedOf(each.target, ask)]);
    return { ...found, failed: Object.fromEntries(await Promise.all(some)) };
  },
  draw(found, { query: asked, hash }) {
    const columns = [
      ["Target", "name"],
      ["Failed", "n"],
      ["Waiting", "n"],
      ["Bundles", "n"],
      ["Lease"],
      ["Rate", "n"],
      ["Next call"],
      ["Next window"],
    ];
    const rows = found.targets.map((each) => ({ key: each.target, cells: targetCells(each, found.failed?.[each.target]) }));
    const command = `curl -X POST "$FANIN_URL/v1/tasks" -H 'Content-Type: application/json' -d '{"target": "mail", "payload": {}}'`;
    const older = found.cursor ? address("tasks", { ...asked, cursor: found.cursor }) : null;
    return [
      h("h1", {}, "Targets of tasks"),
      rows.length
        ? table("Targets", columns, rows)
        : empty("No target has tasks. This registers one:", command),
      pages(hash, older),
    ];
  },
};

// How many tasks of a target have failed, ten of each state at most.
async function failedOf(target, ask) {
  const of = (state) => ask(`/v1/tasks${query({ target, state, limit: FEW })}`);
  const lists = await Promise.all([...BAD].map(of));
  const many = lists.reduce((all, { tasks }) => all + tasks.length, 0);
  return { many, isAll: lists.every(({ cursor }) => !cursor) };
}

const failedCell = (target, { many, isAll } = {}) =>
  many
    ? link(`#/${pathOf(target)}`, `${count(many)}${isAll ? "" : " or more"}`, { class: "bad" })
    : many === 0
      ? "0"
      : "–";

// How many leaders fill bundles of the target, and until when the last of their leases lasts.
const lease = ({ leaders = 0, leaseUntil }) =>
  leaders ? [`${count(leaders)}, ends `, time(leaseUntil)] : "none";

const isAhead = (text) => Boolean(text) && Date.parse(text) > Date.now();

const targetCells = (each, failed) => [
  link(`#/${pathOf(each.target)}`, each.target),
  failedCell(each.target, failed),
  `${count(each.waiting)}${each.waitingMore ? " or more" : ""}`,
  count(each.inFlight),
  lease(each),
  each.rate === undefined ? "no limit" : rate(each.rate),
  isAhead(each.nextCallAt) ? time(each.nextCallAt) : "now",
  time(each.nextWindowAt) ?? "–",
];

export const target = {
  async load({ id, query: asked }, ask) {
    const [tasks, bundles] = await Promise.all([
      asked.state ? inState(id, asked, ask) : firstOf(id, ask),
      ask(`/v1/bundles${query({ target: id, limit: PAGE })}`),
    ]);
    return { tasks, bundles };
  },
  draw({ tasks, bundles }, { id, query: asked, hash }) {
    const change = (event) => (location.hash = address(pathOf(id), { state: event.target.value }));
    const older = tasks.cursor ? address(pathOf(id), { ...asked, cursor: tasks.cursor }) : null;
    const rows = tasks.tasks.map((each) => ({
      key: `${each.taskId} ${each.state}`, // it may change its state between two reads
      cells: [
        h("code", {}, each.taskId),
        stateTag(each.state),
        time(each.dueAt),
        bundleLink(each.bundleId),
        each.reason ?? "",
      ],
    }));
    const columns = [["Task", "name"], ["State"], ["Due"], ["Bundle"], ["Reason", "reason"]];
    return [
      h("h1", {}, id),
      h("h2", {}, "Bundles"),
      bundleTable(bundles.bundles),
      h("h2", {}, "Tasks"),
      h(
        "form",
        { class: "filters" },
        choice(
          "task-state",
          "State",
          asked.state ?? "",
          [["", "any"], ...STATES.map((each) => [each, each])],
          change,
        ),
      ),
      tasks.more?.length
        ? h("p", { class: "soft" }, `The first ${FEW} of each state. There are more: ${tasks.more.join(", ")}.`)
        : null,
      rows.length
        ? table("Tasks", columns, rows)
        : empty(asked.state ? `No task is ${asked.state}.` : "The target has no tasks."),
      pages(hash, older),
    ];
  },
};

const inState = (target, { state, cursor }, ask) =>
  ask(`/v1/tasks${query({ target, state, limit: PAGE, cursor })}`);

// The first tasks of each state, those that failed first; *more*: the states that have others.
async function firstOf(target, ask) {
  const lists = await Promise.all(
    FIRST.map((state) => ask(`/v1/tasks${query({ target, state, limit: FEW })}`)),
  );
  return { tasks: lists.flatMap(({ tasks }) => tasks), more: FIRST.filter((_, at) => lists[at].cursor) };
}

const bundleLink = (id) => (id ? link(`#/bundles/${id}`, h("code", {}, id)) : "–");

function bundleTable(bundles) {
  const columns = [["Bundle", "name"], ["State"], ["Tasks", "n"], ["Attempt", "n"], ["Created"]];
  const rows = bundles.map((each) => ({
    key: each.bundleId,
    cells: [
      bundleLink(each.bundleId),
      stateTag(each.state),
      count(each.size),
      count(each.attempt),
      time(each.createdAt),
    ],
  }));
  return rows.length
    ? table("Bundles", columns, rows)
    : empty("No bundle is under way: tasks wait for more of them, or for their time.");
}

export const bundle = {
  load: ({ id }, ask) => ask(`/v1/bundles/${encodeURIComponent(id)}`),
  isOver: (found) => found.state === "DONE" || found.state === "FAILED",
  draw(found) {
    const rows = found.members.map((each) => ({
      key: each.taskId,
      cells: [h("code", {}, each.taskId), each.verdict ?? "–", each.reason ?? ""],
    }));
    return [
      h("h1", {}, "Bundle"),
      h("p", {}, h("code", {}, found.bundleId)),
      facts([
        ["State", stateTag(found.state)],
        ["Target", link(`#/${pathOf(found.target)}`, found.target)],
        ["Tasks", count(found.size)],
        ["Attempt", count(found.attempt)],
        ["Created", time(found.createdAt)],
      ]),
      h("h2", {}, "Tasks"),
      table("Tasks of the bundle", [["Task", "name"], ["Verdict"], ["Reason", "reason"]], rows),
    ];
  },
};
