import path from 'node:path';
import { afterEach } from 'vitest';
import type { Context } from '../../src/context.ts';
import { type EventKey, eventKey } from '../../src/ids/event-keys.ts';
import { type Journal, openJournal } from '../../src/webhooks/journal.ts';
import { createContext } from './context.ts';
import { forEachTest } from './each-test.ts';
import { createHome } from './home.ts';

/** A new folder with a journal for each test. Journals that a test leaves open are closed after it. */
export function useJournalFolder() {
  const home = forEachTest(createHome);
  const opened: Journal[] = [];
  afterEach(async () => {
    for (const journal of opened.splice(0)) await journal.close();
  });
  const place = {
    get folder() {
      return home.folder;
    },
    /** The path of the test's journal. */
    get file() {
      return path.join(home.folder, 'events.journal');
    },
    async openAs(at: string, changes: Partial<Context> = {}, keep?: number): Promise<Journal> {
      const journal = await openJournal(at, { keep }, { ...createContext(), ...changes });
      opened.push(journal);
      return journal;
    },
    async open(keep?: number, now?: () => number): Promise<Journal> {
      const { clock } = createContext();
      return await place.openAs(place.file, now ? { clock: { ...clock, now } } : {}, keep);
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

/** Returns which of the events 1 to `count` are in a journal. */
export function held(journal: Journal, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter((id) => journal.has(key(id)));
}
