"""The style sheet of the report, in light and dark mode."""

STYLE = """
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1b2430; --soft: #5c6878; --line: #e2e6ec; --grid: #edf0f4;
  --acks: #2f6fde; --area: #2f6fde1f; --rate: #7aa5ee; --took: #5b8def; --late: #d9822b;
  --good: #1d7f4b; --good-bg: #e3f4ea; --bad: #c02b3c; --bad-bg: #fbe6e8; --live: #8a6100; --live-bg:
  #fdf1d3; }
@media (prefers-color-scheme: dark) { :root {
  --page: #10141a; --card: #181e26; --ink: #e6ebf2; --soft: #97a4b5; --line: #2a323d; --grid: #222a34;
  --acks: #6ea3ff; --area: #6ea3ff26; --rate: #3f68ad; --took: #5587dd; --late: #f0a04b;
  --good: #58c98b; --good-bg: #17352a; --bad: #ff7b88; --bad-bg: #3d1d23; --live: #f2c04d; --live-bg:
  #3a2f12; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1140px; margin: 0 auto; padding: 36px 24px 64px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin: 44px 0 14px; letter-spacing: -0.005em; }
h3 { font-size: 13px; margin: 26px 0 8px; color: var(--soft); font-weight: 600; }
p { margin: 0 0 8px; } a { color: var(--acks); text-decoration: none; } a:hover { text-decoration:
  underline; }
.soft { color: var(--soft); } .mono { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  font-size: 12.5px; }
.lead { font-size: 17px; margin: 14px 0 20px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px; margin:
  0 0 22px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px; }
.tile b { display: block; font-size: 20px; font-weight: 650; white-space: nowrap; letter-spacing: -0.01em;
  font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 12.5px; } .tile.bad b { color: var(--bad); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 20px 22px;
  margin: 0 0 18px; }
.card > h2 { margin-top: 0; } .wide { overflow-x: auto; padding: 6px 8px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: 12px; padding: 7px 8px;
  white-space: nowrap; }
td { padding: 7px 8px; border-top: 1px solid var(--line); vertical-align: middle; }
th.n, td.n { text-align: right; white-space: nowrap; } td.name { font-weight: 600; min-width: 150px;
  max-width: 300px;
  overflow-wrap: anywhere; }
td.name .mono { font-weight: 400; color: var(--soft); display: block; white-space: nowrap; font-size:
  11px; }
td.time, td.much { white-space: nowrap; } td.much span { font-size: 12px; }
.chip { display: inline-block; border-radius: 999px; padding: 1px 10px; font-size: 12px; font-weight:
  600; white-space: nowrap; }
.chip.good { background: var(--good-bg); color: var(--good); } .chip.bad { background: var(--bad-bg);
  color: var(--bad); }
.chip.live { background: var(--live-bg); color: var(--live); }
.meter { display: flex; width: 116px; height: 7px; border-radius: 4px; background: var(--grid);
  overflow: hidden; margin-bottom: 3px; }
.meter i { background: var(--acks); } .meter i.failed { background: var(--bad); }
.keys { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 6px 0 0; font-size: 12.5px; color:
  var(--soft); }
.keys i { display: inline-block; width: 14px; height: 0; border-top: 2px solid; vertical-align: middle;
  margin-right: 7px; }
.keys b { color: var(--ink); font-weight: 600; font-variant-numeric: tabular-nums; }
ul.look { margin: 0 0 22px; padding: 12px 16px 12px 34px; background: var(--card); border: 1px solid
  var(--line);
  border-left: 4px solid var(--late); border-radius: 10px; } ul.look li { margin: 2px 0; }
.two { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 4px 28px; }
@media (max-width: 760px) { .two { grid-template-columns: minmax(0, 1fr); } main { padding: 22px 14px
  48px; } }
dl { display: grid; align-content: start; grid-template-columns: max-content 1fr; gap: 3px 16px; margin:
  0; font-size: 13.5px; }
dt { color: var(--soft); } dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; font: 11px system-ui, sans-serif; }
svg text { fill: var(--soft); } svg .label { fill: var(--ink); font-weight: 600; }
svg .end { text-anchor: end; } svg .middle { text-anchor: middle; } svg .start { text-anchor: start; }
svg .grid { stroke: var(--grid); } svg .base { stroke: var(--line); }
svg .whole { stroke: var(--soft); stroke-dasharray: 2 4; }
svg .area { fill: var(--area); } svg .line { fill: none; stroke: var(--acks); stroke-width: 2;
  stroke-linejoin: round; }
svg .line.failed { stroke: var(--bad); stroke-width: 1.6; }
svg .rate { fill: var(--rate); } svg .took { fill: var(--took); } svg .late { fill: var(--late); }
svg rect:hover { opacity: 0.75; }
svg .mark { stroke-width: 1.5; } svg .closed, .keys .closed { stroke: var(--soft); border-color:
  var(--soft); }
svg .closed { stroke-dasharray: 4 3; } svg .share { stroke: var(--soft); stroke-dasharray: 3 3;
  stroke-width: 1; }
svg .tail, .keys .tail { stroke: var(--late); border-color: var(--late); }
svg .done, .keys .done { stroke: var(--good); border-color: var(--good); }
svg .lost, .keys .lost { stroke: var(--bad); border-color: var(--bad); }
svg .event, .keys .event { stroke: var(--good); border-color: var(--good); } svg .event {
  stroke-dasharray: 2 3; }
.keys .event { border-top-style: dotted; } .keys .closed { border-top-style: dashed; }
.keys .last, .keys .acked { border-color: var(--acks); } .keys .failed { border-color: var(--bad); }
details { margin: 10px 0 0; } summary { cursor: pointer; color: var(--soft); font-size: 13px; }
footer { margin-top: 44px; color: var(--soft); font-size: 13px; } footer li { margin: 3px 0; }
@media print { body { background: #fff; } .card, .tile { break-inside: avoid; } }
"""
