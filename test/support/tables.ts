import type { FormatOptions } from '../../src/output/format-flags.ts';
import { createItemWriter } from '../../src/output/formats.ts';
import { fakeOutput, fakeReporter, itemContext, pageOf } from './outputs.ts';

interface Setting extends Partial<FormatOptions> {
  /** Absent: a pipe. */
  readonly width?: number;
  readonly color?: 0 | 1;
  /** True if the table is told which page is the last. */
  readonly isLast?: boolean;
}

/** Prints the items of these pages as a table. Returns the table and the messages. */
export async function table(pages: string[][], { width, color = 0, isLast = false, ...more }: Setting = {}) {
  const stdout = fakeOutput(width);
  const reporter = fakeReporter(color);
  const options = { format: 'table', list: 'events', ...more } as const;
  const writer = await createItemWriter(options, itemContext(stdout), reporter);
  for (const page of pages) await writer.write(pageOf(page), isLast && page === pages.at(-1));
  await writer.end();
  return { text: stdout.text, said: reporter.said };
}
/** Returns the lines of such a table. */
export const lines = async (...args: Parameters<typeof table>) =>
  (await table(...args)).text.split('\n').slice(0, -1);

const event = (status: string, type: string, id: string) =>
  JSON.stringify({
    eventId: `${id}0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b`,
    payload: { n: 1 },
    eventType: type,
    createdOn: '2026-11-01T06:58:12.345Z',
    subscriptionId: `${id}f00000-1111-4222-8333-444455556666`,
    publishStatus: status,
  });
export const events = [
  event('FAILED', 'invoice.payment_failed', '1a'),
  event('SUCCESS', 'user.created', '2b'),
];
