// How far live batches are, as this page saw it: their last progress, and when it last grew.

import { h } from "/elements/dom.js";
import { duration } from "/elements/format.js";
import { done, isEnded, time } from "/elements/parts.js";

const known = new Map(); // batch id -> {progress, since, grown}: read first, and grown last, in milliseconds
const KEPT = 500;

// Keep a progress that was read now.
export function see(batchId, progress) {
  const before = known.get(batchId),
    now = Date.now();
  const isMore = before && done(progress) > done(before.progress);
  known.delete(batchId);
  known.set(batchId, { progress, since: before?.since ?? now, grown: isMore ? now : before?.grown });
  if (known.size > KEPT) known.delete(known.keys().next().value);
}

export const progressOf = (batchId) => known.get(batchId)?.progress;

// Read the progress of the live ones of *batches*, *most* at most.
export const look = (batches, ask, most) =>
  Promise.all(
    batches
      .filter((each) => !isEnded(each))
      .slice(0, most)
      .map(async ({ batchId }) => {
        const read = await ask(`/v1/batches/${batchId}`).catch((error) =>
          error.status === 404 ? {} : Promise.reject(error),
        );
        if (read.progress) see(batchId, read.progress);
      }),
  );

// The time of the last ack: recorded where the batch asks for stalls, else as far as this page saw it.
export function lastAck(batch) {
  if (batch.isComplete) return time(batch.completedAt);
  const { since, grown } = known.get(batch.batchId) ?? {};
  const at = Math.max(Date.parse(batch.ackedAt ?? "") || 0, grown ?? 0);
  if (at) return [time(new Date(at).toISOString()), " ", stalled(batch)];
  if (batch.isStalled) return stalled(batch);
  if (isEnded(batch) || !since) return "–";
  const seconds = (Date.now() - since) / 1000;
  return h("span", { class: "soft" }, seconds < 1 ? "none seen yet" : `none for ${duration(seconds)}, as seen here`);
}

const stalled = ({ isStalled, stuckAfterSeconds }) =>
  isStalled ? h("span", { class: "bad" }, `stalled: none for ${duration(stuckAfterSeconds)}`) : null;
