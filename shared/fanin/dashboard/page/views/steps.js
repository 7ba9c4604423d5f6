// What to do about a batch that ended badly, or has failures or a stall: numbers, and commands that the CLI has.

import { h } from "/elements/dom.js";
import { count } from "/elements/format.js";
import { command, isEnded } from "/elements/parts.js";

const BAD = new Set(["FAILED", "CANCELLED", "TIMED_OUT"]);

export const endedBadly = (batch) => BAD.has(batch.state) || batch.result === "completed_with_failures";

export function draw(batch) {
  const steps = batch.mode !== "exact" ? [] : isEnded(batch) ? after(batch) : meanwhile(batch);
  if (!steps.length && !endedBadly(batch)) return null;
  return h(
    "section",
    {},
    h("h2", {}, "Next steps"),
    endedBadly(batch) ? h("p", {}, numbers(batch)) : null,
    h(
      "ol",
      { class: "steps" },
      steps.map(([caption, text]) => h("li", { key: text }, caption, " ", command(text))),
    ),
    isEnded(batch) && steps.length
      ? h("p", { class: "soft" }, "A reopened batch has new item ids: send the messages again with those.")
      : null,
  );
}

function numbers({ total, progress }) {
  const { acked, failed, upperBound, exact } = progress;
  const about = exact ? "" : "at least ";
  const left = exact ? count(total - acked) : `${count(total - upperBound)} to ${count(total - acked)}`;
  return [
    `Of ${count(total)} items ${about}${count(Math.max(0, acked - failed))} succeeded, `,
    h("b", { class: failed ? "bad" : "" }, `${count(failed)} failed`),
    `, ${left} are outstanding.`,
  ];
}

function after(batch) {
  if (!endedBadly(batch)) return [];
  const { batchId, progress, total } = batch;
  return [
    progress.failed ? ["See which failed:", `fanin failures ${batchId} --ids`] : null,
    progress.failed ? ["Do the failed items again, in a new batch:", `fanin reopen ${batchId}`] : null,
    progress.acked < total
      ? ["Or the failed and the outstanding ones:", `fanin reopen ${batchId} --items unfinished`]
      : null,
  ].filter(Boolean);
}

function meanwhile({ batchId, progress, isStalled }) {
  return [
    isStalled ? ["See what is outstanding:", `fanin outstanding ${batchId}`] : null,
    progress.failed || isStalled
      ? ["See which dead-letter messages are of use:", `fanin redrive DEAD_LETTER_QUEUE --batch ${batchId} --dry-run`]
      : null,
    progress.failed || isStalled
      ? ["Send them again; a success heals a failed item:", `fanin redrive DEAD_LETTER_QUEUE --batch ${batchId}`]
      : null,
    isStalled ? ["Or end it, as failed:", `fanin end ${batchId} --reason WHY`] : null,
  ].filter(Boolean);
}
