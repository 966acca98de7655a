import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { Context } from '../../src/context.ts';
import { type EventKey, eventKey } from '../../src/webhooks/event-key.ts';
import type { Journal } from '../../src/webhooks/journal/journal.ts';
import { type OpenedJournal, openJournal } from '../../src/webhooks/journal/open.ts';
import { HEADER, joinedRecord, Kind, keyRecord } from '../../src/webhooks/journal/record.ts';
import { createContext } from './context.ts';

/** A folder for a journal, new for each test; what a test leaves open is closed behind it. */
export function useJournalFolder() {
  let folder: string;
  let file: string;
  const opened: Journal[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-journal-'));
    file = path.join(folder, 'events.journal');
  });
  afterEach(async () => {
    for (const journal of opened.splice(0)) await journal.close();
    await rm(folder, { recursive: true, force: true });
  });
  const place = {
    get folder() {
      return folder;
    },
    /** Where a test's journal is. */
    get file() {
      return file;
    },
    async openAs(at: string, changes: Partial<Context> = {}, keep?: number): Promise<OpenedJournal> {
      const result = await openJournal(at, { keep }, { ...createContext(), ...changes });
      opened.push(result.journal);
      return result;
    },
    async open(keep?: number, now?: () => number): Promise<Journal> {
      const { clock } = createContext();
      const { journal } = await place.openAs(file, now ? { clock: { ...clock, now } } : {}, keep);
      return journal;
    },
    async close(journal: Journal): Promise<void> {
      opened.splice(opened.indexOf(journal), 1);
      await journal.close();
    },
  };
  return place;
}

export const key = (id: number | string): EventKey => eventKey(String(id));
export const take = async () => true;
export const refuse = async () => false;

/** Which of the events 1 to `count` a journal holds. */
export function held(journal: Journal, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter((id) => journal.has(key(id)));
}

/** What a process that had handed over the events 1 to `count` would leave when it was killed. */
export function left(count: number): Buffer {
  // A number that no process has.
  const holder = { pid: 2 ** 30, hostname: os.hostname(), nonce: 'x' };
  const done = Array.from({ length: count }, (_, index) =>
    keyRecord(Kind.done, key(index + 1), 1_700_000_000),
  );
  return Buffer.concat([HEADER, joinedRecord({ number: 7, holder }), ...done]);
}
