// Close, cancel and notify, where the dashboard was started with --allow-writes.

import { write } from "/api.js";
import { h, patch } from "/elements/dom.js";
import { close, open } from "/elements/keys.js";
import { isEnded, nameOf } from "/elements/parts.js";

export function buttons(batch, { facts, refresh }) {
  if (!facts.allowWrites) return null;
  const button = (name, act) => h("button", { type: "button", onclick: () => act(batch, refresh) }, name);
  return h(
    "p",
    { class: "writes" },
    batch.state === "OPEN" ? button("Close…", confirmClose) : null,
    isEnded(batch) ? null : button("Cancel…", confirmCancel),
    isEnded(batch) ? button("Send the event again…", confirmNotify) : null,
  );
}

const confirmClose = (batch, refresh) =>
  confirm(
    batch,
    refresh,
    "close",
    "Close the batch",
    `No items can be added to ${nameOf(batch)} after this.`,
  );

const confirmNotify = (batch, refresh) =>
  confirm(
    batch,
    refresh,
    "notify",
    "Send the event again",
    `Consumers get the ending event of ${nameOf(batch)} a second time.`,
  );

function confirmCancel(batch, refresh) {
  const caption = `Later acks do not count, and this cannot be undone. Type ${nameOf(batch)} to confirm.`;
  confirm(batch, refresh, "cancel", "Cancel the batch", caption, [
    h(
      "p",
      {},
      h("label", {}, "Name ", h("input", { id: "typed", autocomplete: "off", oninput: allow(batch) })),
    ),
    h(
      "p",
      {},
      h("label", {}, "Reason, optional ", h("input", { id: "reason", maxlength: 512, autocomplete: "off" })),
    ),
  ]);
}

const allow = (batch) => (event) => {
  document.getElementById("do").disabled = event.target.value !== nameOf(batch);
};

function confirm(batch, refresh, action, title, caption, fields = []) {
  const send = async (event) => {
    event.preventDefault();
    const reason = document.getElementById("reason")?.value.trim();
    try {
      await write(`/v1/batches/${batch.batchId}/${action}`, reason ? { reason } : {});
      close();
      refresh();
    } catch (failure) {
      patch(document.getElementById("refused"), [`${failure.title}: ${failure.message}`]);
    }
  };
  open(`${title}?`, [
    h(
      "form",
      { onsubmit: send },
      h("p", {}, caption),
      fields,
      h("p", { id: "refused", class: "bad", role: "alert" }),
      h(
        "p",
        {},
        h("button", { id: "do", disabled: fields.length > 0 }, title),
        " ",
        h("button", { type: "button", onclick: close }, "Go back (Esc)"),
      ),
    ),
  ]);
}
