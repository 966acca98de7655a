/** The style sheet of the page. It loads nothing: the fonts are the system's, the drawings are in the page. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --muted: #59636e; --rule: #d1d9e0; --shade: #f6f8fa;
  --failed: #c93c37; --success: #3f8f5f; --focus: #0969da;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0d1117; --ink: #e6edf3; --muted: #9198a1; --rule: #3d444d; --shade: #151b23;
    --failed: #ff7b72; --success: #57ab5a; --focus: #4493f8;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1360px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 1.15rem; margin: 36px 0 8px; }
p { margin: 8px 0; }
.muted, caption { color: var(--muted); }
.lead { font-size: 1.1rem; }
.lead strong { color: var(--failed); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 16px 0 0; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
svg { display: block; width: 100%; font-size: 13px; }
code, pre, .mono { font: 13px/1.45 ui-monospace, monospace; }
.controls { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin: 12px 0; }
.controls[hidden] { display: none; }
.controls input { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--muted); border-radius: 6px; padding: 5px 10px; min-width: 0; width: 20rem; max-width: 100%; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; }
th, td { text-align: left; vertical-align: top; padding: 5px 12px 5px 0; }
th { border-bottom: 2px solid var(--rule); white-space: nowrap; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 2px 0; cursor: pointer; text-align: left; }
th button::after { content: "\\2195"; color: var(--muted); padding-left: 6px; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: inherit; }
th[aria-sort=descending] button::after { content: "\\2193"; color: inherit; }
td { overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.causes .number { white-space: nowrap; }
.events tbody { border-bottom: 1px solid var(--rule); }
.events tbody[hidden] { display: none; }
.events .json td { padding: 0 0 6px; }
/* A row's JSON is shown below it when its own details are open. */
.events tbody:not(:has([open])) .json { display: none; }
.events .data td { padding-bottom: 1px; font-size: 13px; }
.events .whole { white-space: nowrap; }
summary { cursor: pointer; color: var(--muted); width: max-content; max-width: 100%; }
pre { margin: 4px 0; padding: 10px 12px; background: var(--shade); border: 1px solid var(--rule); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; direction: ltr; unicode-bidi: isolate; }
@media screen and (max-width: 1000px) {
  .events .whole { white-space: normal; }
}
@media screen and (max-width: 640px) {
  main { padding: 16px 14px 48px; }
  .wide { display: none; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 6px; }
  .events, .events tbody, .events tr, .events td { display: block; }
  .events thead, .events thead tr { display: flex; flex-wrap: wrap; gap: 0 16px; }
  .events th { border: 0; }
  .events tbody { padding: 6px 0; }
  .events .data td { font-size: inherit; padding: 0 0 1px 7.5rem; min-height: 1.5em; }
  .events .data td::before { content: attr(data-name); float: left; margin-left: -7.5rem; width: 7rem; color: var(--muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --muted: #444; --rule: #bbb; --shade: #fff; --failed: #b3261e; --success: #2e7d4f; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  .controls, th button::after { display: none; }
  details:not([open]), .events details { display: none; }
  .scroll { overflow: visible; }
  .events .data td { font-size: 7pt; padding-right: 6pt; }
  thead { display: table-header-group; break-inside: avoid; }
  .events tbody, .chart, tr { break-inside: avoid; }
  .events tbody:has(details[open]) { break-inside: auto; }
  h2 { break-after: avoid; }
  @page { margin: 15mm; }
}
`;

/**
 * The script of the page: sorts by the column heads and filters, by keyboard too. Without it only these two are missing. It
 * reads text of the page, and writes only numbers and attributes of its own.
 */
export const script = `
'use strict';
(() => {
  const table = document.querySelector('table.events');
  if (!table) return;
  const rows = Array.from(table.tBodies);
  const heads = Array.from(table.tHead.querySelectorAll('th'));
  const status = document.getElementById('shown');
  const input = document.getElementById('filter');
  const texts = new Map();
  const text = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const filter = () => {
    const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => text(row).includes(word));
      if (!row.hidden) shown++;
    }
    const all = rows.length + (rows.length === 1 ? ' event' : ' events');
    status.textContent = shown === rows.length ? all : shown + ' of ' + all;
  };
  let timer;
  input.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(filter, rows.length > 500 ? 150 : 0); });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { input.value = ''; filter(); }
  });
  const collate = new Intl.Collator('en').compare;
  const isNumber = (value) => value !== '' && !Number.isNaN(Number(value));
  const compare = (a, b) => (isNumber(a) && isNumber(b) ? Number(a) - Number(b) : collate(a, b));
  const sort = (head, column) => {
    const down = head.getAttribute('aria-sort') === 'ascending';
    for (const other of heads) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const key = new Map(rows.map((row) => [row, row.rows[0].cells[column].textContent]));
    rows.sort((a, b) => compare(key.get(a), key.get(b)) * (down ? -1 : 1));
    table.append(...rows);
  };
  heads.forEach((head) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    button.addEventListener('click', () => sort(head, head.cellIndex));
    head.append(button);
  });
  document.getElementById('controls').hidden = false;
  filter();
})();
`;
