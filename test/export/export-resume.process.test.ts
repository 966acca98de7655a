import { describe, expect, test } from 'vitest';
import { startExporting } from '../support/exporting.ts';
import { drawnCases, sampleSize } from '../support/seed.ts';
import { inShape, shape } from '../support/shape.ts';
import { complete, endedAfter, killedAfter, small } from './ended-export.ts';

const parquet = ['--format', 'parquet'];
/** Each takes seconds. */
const few = sampleSize(1, inShape({ published: 2, flat: 1 }));
const FORMS = [[], ['--gzip'], ['--partition', 'day'], parquet, [...parquet, '--partition', 'day']];

describe('after a crash or a signal', () => {
  test.each(drawnCases(`export-resume ${shape}`, few, FORMS).map((form) => [form]))(
    'the same command continues where it stopped %j',
    async (form) => {
      const events = 2_000;
      await using exporting = await startExporting({ events });
      for (const parts of [1, 11]) await killedAfter(exporting, parts, ...form);
      const had = await complete(exporting);
      expect(had).toBeGreaterThan(11);
      const asked = exporting.queries().length;
      const { code, stderr } = await exporting.export(...small, ...form);
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^continuing: \d+ of \d+ files are there/)]);
      expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
      // Half of it was there and is not requested again.
      const pages = exporting
        .queries()
        .slice(asked)
        .filter((query) => query.endsWith(',10)'));
      expect(pages.length).toBeLessThan(((events / 10) * 3) / 4);
    },
  );

  test('a signal ends it with 130 and leaves nothing half written', async () => {
    await using exporting = await startExporting({ events: 1_000 });
    const { code, stderr } = await endedAfter(exporting, 2, 'SIGINT');
    expect(code).toBe(130);
    expect(stderr).toMatch(/to resume: run the same command again\n$/);
    expect((await exporting.parts()).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect((await exporting.export(...small)).code).toBe(0);
    expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
  });
});
