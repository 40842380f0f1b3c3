"""How the page of a replay looks, by day and by night."""

STYLE = """
:root { --bg: #f7f6f3; --surface: #fff; --ink: #1c2127; --muted: #5d6670; --line: #e4e0d9; --grid: #ebe8e2;
  --good: #28704b; --bad: #b3324a; --c0: #1f6f8b; --c1: #c4622d; --c2: #28704b; --c3: #7a4fa3; --c4: #a0522d;
  --c5: #b3324a; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #12161a; --surface: #1a1f25; --ink: #e9ecef; --muted: #9ba6b1; --line: #2c343d; --grid: #262e36;
    --good: #6cc496; --bad: #f08398; --c0: #5fb9d6; --c1: #f0996a; --c2: #6cc496; --c3: #b99ae0; --c4: #d9a577;
    --c5: #f08398; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 15px/1.55 "Inter", "Segoe UI", system-ui, -apple-system, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 2rem 1.2rem 4rem; display: grid; gap: 1.2rem; }
main > * { min-width: 0; }
h1 { font-size: 1.6rem; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 0.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0 0 0.6rem; }
p { margin: 0.3rem 0; } .quiet, figcaption { color: var(--muted); }
section { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; padding: 1rem 1.2rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1.2rem; }
.pictures > * { min-width: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 620; padding: 0.9rem 0 0.2rem; overflow-wrap: anywhere; }
td { padding: 0.3rem 0.9rem 0.3rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td.number { white-space: nowrap; }
@media (max-width: 640px) { td { display: inline-block; border: 0; padding: 0 0.9rem 0 0; }
  td:first-child { display: block; } tr { display: block; border-top: 1px solid var(--line); padding: 0.3rem 0; } }
ul { margin: 0; padding-left: 1.1rem; } li { margin: 0.25rem 0; }
.key { display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; margin: 0 0 0.5rem; padding: 0; list-style: none;
  font-size: 0.88rem; }
.key i { display: inline-block; width: 0.85rem; height: 0.85rem; border-radius: 4px; margin-right: 0.4rem;
  vertical-align: -0.1rem; background: currentColor; }
.key span { color: var(--ink); overflow-wrap: anywhere; }
.better { color: var(--good); font-weight: 600; } .worse { color: var(--bad); font-weight: 600; }
figure { margin: 0; } figcaption { font-size: 0.88rem; margin-top: 0.3rem; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 13px; fill: var(--ink); } svg text.quiet { fill: var(--muted); }
.grid { stroke: var(--grid); fill: none; }
.level { stroke: var(--ink); stroke-dasharray: 5 4; opacity: 0.7; fill: none; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); }
svg g .line { stroke: currentColor; stroke-width: 2; fill: none; } svg g .dashed { stroke-dasharray: 6 4; }
svg g .band { fill: currentColor; opacity: 0.14; } svg g .bar { fill: currentColor; opacity: 0.22; }
svg g .full { fill: currentColor; opacity: 0.75; } svg g circle { fill: currentColor; }
svg g .whisker { stroke: currentColor; stroke-width: 2; } svg g .cap { stroke: currentColor; stroke-width: 2; }
@media (max-width: 640px) { svg text { font-size: 16px; } section { padding: 0.9rem; }
  main { padding: 1.2rem 0.7rem; } }
footer { color: var(--muted); font-size: 0.85rem; }
@media print { section { break-inside: avoid; } }
"""
