"""The look of the page: quiet, readable at any width, in the dark and on paper."""

CSS = """
:root {
  color-scheme: light dark;
  --ink: #1c1e21; --soft: #5c636b; --line: #dcdfe3; --paper: #fdfdfc; --card: #f4f5f4; --link: #0b5394;
  --proved: #0a6640; --holds: #0b5394; --refuted: #9a4b00; --bad: #a61b1b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e5e7; --soft: #a3a9b1; --line: #363b42; --paper: #16181b; --card: #1f2226; --link: #8ab8ea;
    --proved: #6fcf9f; --holds: #8ab8ea; --refuted: #efb071; --bad: #ff9a94;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 5rem; max-width: 66rem;
  font: 1.03rem/1.6 Charter, "Iowan Old Style", "Source Serif 4", Georgia, serif;
  color: var(--ink); background: var(--paper); overflow-wrap: break-word;
}
h1, h2, h3 { line-height: 1.25; font-weight: 600; text-wrap: balance; }
h1 { font-size: clamp(1.7rem, 5vw, 2.4rem); margin: 0 0 .4rem; }
h2 { font-size: 1.5rem; margin: 4rem 0 1rem; padding-top: 1rem; border-top: 1px solid var(--line); }
main > section:first-child h2 { border: 0; margin-top: 1.5rem; }
h3 { font-size: 1.1rem; margin: 2.2rem 0 .5rem; }
p, ul, ol, dl { max-width: 46rem; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: .15em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
:target { background: color-mix(in srgb, var(--link) 9%, transparent); }
code, pre { font: .85em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; color: var(--soft); }
math { font-size: 1.1em; }
summary { cursor: pointer; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.lead { font-size: 1.15rem; color: var(--soft); margin: 0; }

nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; padding: 0; max-width: none; }
nav, .tally, .badge, table, .facts, summary, .small, .evidence {
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
nav { font-size: .92rem; border-block: 1px solid var(--line); margin-top: 2rem; }
.tally { list-style: none; padding: 0; margin: 1.8rem 0 0; max-width: none; display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); color: var(--soft); font-size: .88rem; }
.tally b { display: block; font-size: 1.5rem; font-weight: 600; color: var(--ink);
  font-variant-numeric: tabular-nums; }
.failed { margin-top: 1.5rem; padding: .2rem 1.2rem; border-left: 4px solid var(--bad);
  background: var(--card); }
.missing { color: var(--bad); }
.strange { color: var(--bad); font-weight: 600; }

.badge { font-size: .68rem; font-weight: 650; letter-spacing: .05em; white-space: nowrap;
  color: var(--soft); }
.proved, .certified { color: var(--proved); }
.holds { color: var(--holds); }
.refuted { color: var(--refuted); }
.undecided { color: var(--bad); }
.evidence { list-style: none; padding: 0; margin: .5rem 0 1rem; display: flex; flex-wrap: wrap;
  gap: .15rem 1.2rem; font-size: .85rem; }
article { border-left: 2px solid var(--line); padding-left: 1.2rem; margin-top: 2.2rem; }
article h3 { margin-top: 0; }
article p { margin: .4rem 0; }
.note { color: var(--soft); font-size: .93rem; }
ol > li { margin-bottom: 1rem; }
.meanings { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; max-width: 50rem; }
dd { margin: 0; }

.scroll { overflow-x: auto; max-width: 100%; }
figure { margin: 0 0 3.5rem; }
figcaption { font-size: .97rem; }
.plate { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: .9rem; }
.plate svg { display: block; margin: 0 auto; width: min(100%, calc(1.5 * var(--width)));
  min-width: calc(.93 * var(--width)); height: auto; }
.findings li { margin-bottom: .3rem; }
.formula { padding: .3rem 0; }
.formula math { display: block math; width: max-content; min-width: 100%; text-align: left; }

table { border-collapse: collapse; width: 100%; font-size: .9rem; line-height: 1.45; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .42rem .9rem .42rem 0;
  border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; font-size: .82rem; vertical-align: bottom; }
tbody th { font-weight: 500; }
.number, details td:nth-child(4) { font-variant-numeric: tabular-nums; white-space: nowrap; }
.small { font-size: .83rem; }
.audit { min-width: 58rem; }
.stages { min-width: 34rem; }
.stages :is(th, td):nth-child(3) { text-align: right; font-variant-numeric: tabular-nums; }
.verdicts { table-layout: fixed; }
.verdicts > thead th:nth-child(1) { width: 8.5rem; }
.verdicts > thead th:nth-child(3) { width: 7rem; }
.verdicts > thead th:nth-child(4) { width: 5.5rem; }
.verdicts > thead th:nth-child(5) { width: 6rem; }
.verdicts tbody th { font-size: .84rem; }
.detail { padding: .6rem 0 1rem; font-size: .92rem; }
.detail p, .detail ul { margin: .6rem 0; }
.detail ul { padding-left: 1.2rem; }
.inner { font-size: .86rem; color: var(--soft); margin: .3rem 0; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; font-size: .88rem; }
.facts dt { color: var(--soft); }

@media (max-width: 46rem) {
  body { padding: 1.5rem 1rem 4rem; font-size: 1rem; }
  .tally { grid-template-columns: 1fr 1fr; }
  .plate { padding: .5rem; border-radius: 4px; }
  .verdicts > thead { display: block; position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .verdicts, .verdicts > tbody { display: block; }
  .verdicts > tbody > tr { display: grid; grid-template-columns: 1fr auto; padding: .5rem 0;
    border-bottom: 1px solid var(--line); }
  .verdicts > tbody > tr > * { border: 0; padding: 0; }
  .verdicts > tbody > tr > td:nth-child(2) { grid-area: 2 / 1 / 3 / 3; min-width: 0; }
  .verdicts > tbody > tr > td.number { display: none; }
  .meanings { grid-template-columns: 1fr; gap: 0; }
  .meanings dd { margin-bottom: .7rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; color: #000; background: #fff; }
  nav, .skip { display: none; }
  figure, article, tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  .plate svg { min-width: 0; width: 100%; }
  .audit, .stages { min-width: 0; }
  a { color: inherit; text-decoration: none; }
  .verdicts > tbody > tr > td > details::details-content { content-visibility: visible; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
"""
