import { beforeEach, expect, test, vi } from 'vitest';
import { createContext } from '../support/context.ts';
import { fakeOutput, fakeReporter, pageOf } from '../support/outputs.ts';

// The library that measures them is loaded once in a process.
beforeEach(() => void vi.resetModules());

const ODD = 'e\u0301👍🏽';

test.each([
  { title: ODD, cell: 'a' },
  { title: 'a', cell: ODD },
])('a table of %j loads what measures its letters', async ({ title, cell }) => {
  const { tableText } = await import('../../src/formats/table.ts');
  const table = { heads: [{ title }], rows: [[cell]] };
  expect(await tableText(table, fakeOutput(), fakeReporter())).toBe(`${title}\n${cell}\n`);
});

test.each([[`{"${ODD}":"a"}`], [`{"n":"${ODD}"}`], ['{"n":"abc"}', `{"n":"${ODD}"}`]])(
  'items such as %s, then %s, are printed with what measures their letters',
  async (...items) => {
    const { createItemWriter } = await import('../../src/formats/item-writer.ts');
    for (const stdout of [fakeOutput(), fakeOutput(80)]) {
      const writer = await createItemWriter(
        { format: 'table', list: 'events' },
        createContext({ stdout }),
        fakeReporter(),
      );
      for (const item of items) await writer.write(pageOf([item]));
      expect(stdout.text).toContain(ODD);
    }
  },
);
