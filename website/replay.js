// Answers the page's requests from what was recorded, and sets its clock to that time.
{
  const { at, step, answers } = JSON.parse(document.getElementById("recorded").textContent);
  const began = Date.now(),
    RealDate = Date;
  const now = () => at + RealDate.now() - began;
  const facts = { name: "replay of recorded answers", api: "", allowWrites: false, hasEvents: false };
  const IGNORED = new Set(["limit", "cells"]);

  globalThis.Date = class extends RealDate {
    constructor(...given) {
      super(...(given.length ? given : [now()]));
    }
    static now = now;
  };

  // The last answer of a path up to this time; undefined if it was not recorded, or not yet.
  function recorded({ pathname, searchParams }) {
    const asked = [...searchParams].filter(([name]) => !IGNORED.has(name));
    const path = pathname + (asked.length ? `?${new URLSearchParams(asked)}` : "");
    return answers[path]?.findLast(([frame]) => frame * step <= now() - at)?.[1];
  }

  // A map with fewer and larger cells, as it is asked for where cells are tapped.
  function larger(map, cells) {
    const many = Math.ceil(map.acked.length / cells);
    const join = (values, value) =>
      Array.from({ length: Math.ceil(values.length / many) }, (_, at) => value(values.slice(at * many, (at + 1) * many)));
    const sum = (values) => values.reduce((all, each) => all + Number(each), 0);
    return { ...map, cellItems: map.cellItems * many, acked: join(map.acked, sum), failed: join(map.failed, (each) => Math.max(...each)) };
  }

  const REFUSED = {
    title: "Not part of the replay",
    detail: "the replay has batches and their whole maps alone; `fanin dashboard` has the rest.",
    type: "urn:fanin:not-recorded",
  };

  // There is no stream of what was recorded: the page polls.
  globalThis.EventSource = class {
    constructor() {
      setTimeout(() => this.onerror?.());
    }
    close() {}
  };

  globalThis.fetch = async (path) => {
    const url = new URL(path, "http://replay");
    const found = path === "/facts" ? facts : recorded(url);
    if (!found) return new Response(JSON.stringify(REFUSED), { status: 403 });
    const cells = Number(url.searchParams.get("cells"));
    return new Response(JSON.stringify(cells && found.acked ? larger(found, cells) : found));
  };
}
