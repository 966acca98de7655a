import { expect, test } from 'vitest';
import { loadDraw } from '../../src/formats/table-drawing.ts';
import { statsLines, timeTable } from '../../src/stats/stats-text.ts';
import type { Stats } from '../../src/stats/tallies.ts';
import { cellWidth, loadWidths } from '../../src/terminal/cell-width.ts';
import { plain } from '../../src/terminal/palette.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { UTC } from '../../src/time/time-zone.ts';

const [after, middle, before] = ['2026-11-20T22:00:00Z', '2026-11-21', '2026-11-21T02:00:00Z'].map(
  (text) => parseInstant(text) as Instant,
) as [Stats['window']['after'], Stats['window']['after'], Stats['window']['after']];

await loadWidths();
const draw = await loadDraw(plain, true);

function statsOf(name: string): Stats {
  const tally = { total: 1_149_000, success: 985_000, failed: 164_000 };
  return {
    ...tally,
    window: { after, before, zone: UTC, queries: [], status: undefined },
    types: [
      { eventType: name, ...tally },
      { eventType: null, total: 0, success: 0, failed: 0 },
    ],
    buckets: [
      { from: after, to: middle, isPart: false, ...tally },
      { from: middle, to: before, isPart: false, total: 0, success: 0, failed: 0 },
    ],
    moved: false,
  };
}

test.each([
  'a',
  'envelope.completed',
  'very.long.event.type.name.that.goes.on.and.on.v2',
  '日本語'.repeat(9),
])('the types, named %s, and the time line fit every terminal from 60 columns on', (name) => {
  for (let room = 60; room <= 200; room++) {
    const all = statsLines(statsOf(name), { room, unicode: true, palette: plain, draw }, '', 0);
    // The totals are at the end, and are never cut.
    const lines = all.slice(0, -2);
    for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(room);
  }
});

test('the scale of the bars is shown if there is room for it', () => {
  const head = (room: number) =>
    statsLines(
      statsOf('very.long.event.type.name.that.goes.on.and.on'),
      {
        room,
        unicode: true,
        palette: plain,
        draw,
      },
      '',
      0,
    )[0];
  expect(head(90)).toMatch(/ rate {2}0 to 20\.0 %$/);
  expect(head(45)).toMatch(/ rate$/);
});

test.each([
  ['parts of the same length', ['2026-11-20 00:00', '06:00', '12:00', '18:00'], 'each 6h'],
  ['a first and a last that the window cuts', ['2026-11-20 05:40', '06:00', '12:00', '17:00'], 'each 6h'],
  ['a first that is longer', ['2026-11-20 05:40', '12:00', '18:00', '23:45'], 'each about 6h'],
  ['a last that is hardly shorter', ['2026-11-20 06:00', '12:00', '18:00', '23:45'], 'each about 6h'],
  [
    'parts between that hardly differ',
    ['2026-11-20 00:00', '05:00', '09:40', '14:40', '19:40'],
    'each about 5h',
  ],
  ['parts between that differ', ['2026-11-20 00:00', '01:00', '03:00', '06:00', '09:00'], ''],
  ['two of the same length', ['2026-11-20 00:00', '06:00', '12:00'], 'each 6h'],
  ['two that hardly differ', ['2026-11-20 00:00', '06:00', '11:45'], 'each about 6h'],
  ['two of which the first is cut', ['2026-11-20 05:00', '06:00', '12:00'], ''],
])('the time line says the length of %s', (_, times, title) => {
  const starts = times.map((time) => {
    const text = time.includes(' ') ? time : `2026-11-20 ${time}`;
    return parseInstant(`${text.replace(' ', 'T')}:00Z`) as Instant;
  });
  const tally = { total: 4, success: 3, failed: 1 };
  const buckets = starts
    .slice(1)
    .map((to, index) => ({ from: starts[index] as Instant, to, isPart: false, ...tally }));
  const { heads } = timeTable({ ...statsOf('a'), buckets });
  expect(heads.at(-1)?.title).toBe(title);
});
