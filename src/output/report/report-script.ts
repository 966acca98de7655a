/**
 * The page's one script: sorting by the column heads and filtering, both by keyboard. Without it the page is the same, less
 * these two. It reads texts of the page and writes numbers and attributes of its own, nothing else.
 */
export const script = `
'use strict';
(() => {
  const table = document.querySelector('table.events');
  if (!table) return;
  const rows = Array.from(table.tBodies);
  const heads = Array.from(table.tHead.rows[0].cells);
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
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    button.addEventListener('click', () => sort(head, column));
    head.append(button);
  });
  document.getElementById('controls').hidden = false;
  filter();
})();
`;
