import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { eventKey } from '../../src/webhooks/event-key.ts';
import { openJournal } from '../../src/webhooks/journal/open.ts';
import { clock } from './clock.ts';
import { createContext } from './context.ts';

/**
 * Hands over the events 1 to `count`, in an order of its own, opening and closing the journal now and then. What the handler
 * took and what was acknowledged is written down by single appends: `took`, `acked` or `known`, the event, the process.
 */
clock.run();
const [file = '', log = '', count = '0', sessions = '1', refusals = '0'] = process.argv.slice(2);
const write = (what: string, event: number) => appendFileSync(log, `${what} ${event} ${process.pid}\n`);

const events = Array.from({ length: Number(count) }, (_, index) => index + 1);
for (let index = events.length - 1; index > 0; index--) {
  const other = Math.floor(Math.random() * (index + 1));
  [events[index], events[other]] = [events[other] as number, events[index] as number];
}
const share = Math.ceil(events.length / Number(sessions));
for (let at = 0; at < events.length; at += share) {
  const { journal } = await openJournal(file, {}, createContext());
  const waiting = events.slice(at, at + share);
  const work = async () => {
    for (let event = waiting.pop(); event !== undefined; event = waiting.pop()) await handOver(event);
  };
  const handOver = async (event: number) => {
    for (;;) {
      const outcome = await journal.once(eventKey(`event ${event}`), async () => {
        await setTimeout(Math.random() * 4);
        if (Math.random() < Number(refusals)) return false;
        write('took', event);
        await setTimeout(Math.random() * 2);
        return true;
      });
      if (outcome === 'refused') continue;
      return write(outcome === 'accepted' ? 'acked' : 'known', event);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  await journal.close();
}
