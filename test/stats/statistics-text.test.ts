import { expect, test } from 'vitest';
import { loadDraw } from '../../src/formats/table-drawing.ts';
import type { Stats } from '../../src/stats/statistics.ts';
import { statsLines } from '../../src/stats/statistics-text.ts';
import { cellWidth, loadWidths } from '../../src/terminal/cell-width.ts';
import { plain } from '../../src/terminal/palette.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { UTC } from '../../src/time/time-zone.ts';

const [after, middle, before] = ['2026-11-20T22:00:00Z', '2026-11-21', '2026-11-21T02:00:00Z'].map(
  (text) => parseInstant(text) as Instant,
) as [Stats['window']['after'], Stats['window']['after'], Stats['window']['after']];

await loadWidths();
const draw = await loadDraw(plain);

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
      { from: after, to: middle, ...tally },
      { from: middle, to: before, total: 0, success: 0, failed: 0 },
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
    const all = statsLines(statsOf(name), { room, unicode: true, palette: plain, draw });
    // The totals are at the end, and are never cut.
    const lines = all.slice(0, -2);
    for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(room);
  }
});

test('the scale of the bars is shown if there is room for it', () => {
  const head = (room: number) =>
    statsLines(statsOf('very.long.event.type.name.that.goes.on.and.on'), {
      room,
      unicode: true,
      palette: plain,
      draw,
    })[0];
  expect(head(90)).toMatch(/ rate {2}0 to 20\.0 %$/);
  expect(head(45)).toMatch(/ rate$/);
});
