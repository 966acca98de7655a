import { mkdtemp, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { eventKey } from '../../../src/webhooks/event-key.ts';
import { KeptJournal } from '../../../src/webhooks/journal/kept-journal.ts';
import { createContext } from '../../support/context.ts';

const DAY = 86_400_000;
const take = async () => true;

test('forgets what is older than asked while it is used, and nothing else', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-journal-'));
  const file = path.join(folder, 'events.journal');
  let now = Date.now();
  const context = createContext();
  const clock = { ...context.clock, now: () => now };
  const { kept } = await KeptJournal.open(file, DAY, { ...context, clock });
  try {
    const old = Array.from({ length: 5000 }, (_, index) => kept.once(eventKey(`old ${index}`), take));
    expect(new Set(await Promise.all(old))).toEqual(new Set(['accepted']));
    now += 2 * DAY;
    expect(await kept.once(eventKey('young'), take)).toBe('accepted');
    const size = (await stat(file)).size;
    const renewed = kept.renew();
    // What arrives meanwhile waits for the new file.
    const during = kept.once(eventKey('meanwhile'), take);
    await renewed;
    expect(await during).toBe('accepted');
    expect((await stat(file)).size).toBeLessThan(size / 10);
    expect(await kept.once(eventKey('young'), take)).toBe('duplicate');
    expect(await kept.once(eventKey('old 1'), take)).toBe('accepted');
    await kept.renew();
    expect(await kept.once(eventKey('old 1'), take)).toBe('duplicate');
  } finally {
    await kept.close();
    await rm(folder, { recursive: true });
  }
});
