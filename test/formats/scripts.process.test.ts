import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { spawnHooktrail } from '../support/process.ts';
import { editJson } from '../support/sandbox.ts';
import { ndjsonOf, startSearching } from '../support/searching.ts';
import { drawnCases, sampleSize } from '../support/seed.ts';
import { inShape, textInShape } from '../support/shape.ts';

/**
 * Texts whose width on a terminal is not their number of characters, or that the library for widths has to
 * measure.
 */
const TEXTS = [
  'done 😀',
  '👩‍👩‍👧‍👦',
  '🇩🇪',
  'שלום',
  'مرحبا',
  'नमस्ते',
  'สวัสดี',
  'cafe\u0301',
  '訂單已建立',
  'ＡＢＣ',
  'a\u200db',
  '𝒜𠀀',
  'a\u202eb',
  'a\ud83d',
];
/** It stands in every one of these outputs as it is. */
const HINDI = 'नमस्ते';

const guid = (index: number) => `1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a${index + 10}`;
const SUBSCRIPTION = guid(80);

const events = TEXTS.map((text, index) => ({
  eventId: guid(index),
  eventType: text,
  subscriptionId: SUBSCRIPTION,
  createdOn: `2026-11-20T11:${index + 10}:00Z`,
  publishStatus: index % 2 === 0 ? ('SUCCESS' as const) : ('FAILED' as const),
  [text]: text,
  customer: text,
  lastError: { message: text },
}));

async function startWithTexts() {
  const at = await startSearching({ events: 0 });
  const file = path.join(at.env['HOME'] as string, 'events.ndjson');
  await writeFile(file, ndjsonOf(events));
  for (const event of events) at.control.addEvent({ ...event, json: textInShape(event) });
  const items = TEXTS.map((text) => ({ eventType: text, description: text }));
  at.control.fault(
    'event-types',
    editJson((body) => ({ ...body, items, count: items.length })),
  );
  return { ...at, file };
}

const OUTPUTS: Readonly<Record<string, readonly string[]>> = {
  'events search': ['events', 'search'],
  'events search --from': ['events', 'search', '--from', 'events.ndjson'],
  'events get': ['events', 'get', ...events.map(({ eventId }) => eventId)],
  'event-types': ['event-types'],
  'events watch': ['events', 'watch', '--since', '1d', '--until', 'now', '--overlap', '0s'],
  'events stats --by': ['events', 'stats', '--since', '1d', '--by', 'customer'],
  'events stats --from': ['events', 'stats', '--since', '1d', '--from', 'events.ndjson'],
  'events health': ['events', 'health', '--since', '1d', '--by', 'customer'],
  'events explain': ['events', 'explain', '--since', '1d'],
  'webhooks recover --dry-run': ['webhooks', 'recover', '--since', '1d', '--dry-run', '--new-journal'],
  'webhooks replay --dry-run': ['webhooks', 'replay', '--since', '1d', '--dry-run'],
};
const SILENT_ON_VALUES = ['events explain'];

const CASES = Object.keys(OUTPUTS).flatMap((name) =>
  ['table', 'markdown'].map((format) => [name, format] as const),
);
/** The shape of the items does not change what a command loads. */
const FEW_CASES = inShape({ published: sampleSize(8, CASES.length), flat: 4 });

// Each in a process of its own: what one command loads is not there for the next.
test.each(drawnCases('scripts', FEW_CASES, CASES))(
  '%s -o %s prints text of every script',
  async (name, format) => {
    await using at = await startWithTexts();
    const args = OUTPUTS[name] as readonly string[];
    const hasFormat = !name.startsWith('webhooks') || format === 'markdown';
    const line = hasFormat ? [...args, '-o', format] : args;
    const { code, stdout, stderr } = await spawnHooktrail(line, { env: at.env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('error') });
    if (!SILENT_ON_VALUES.includes(name)) expect(stdout).toContain(HINDI);
  },
);
