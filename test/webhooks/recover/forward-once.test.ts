import { existsSync } from 'node:fs';
import { rm, symlink, writeFile } from 'node:fs/promises';
import http, { createServer } from 'node:http';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { adviceText } from '../../../src/advice.ts';
import type { Machine } from '../../../src/context.ts';
import { InterruptedError, ServiceError } from '../../../src/errors.ts';
import { type Acceptance, Journal, openJournal } from '../../../src/webhooks/journal.ts';
import { openListenerSocket } from '../../../src/webhooks/local-socket.ts';
import { type ForwardOptions, forwardOnce } from '../../../src/webhooks/recover/forward-once.ts';
import { clock, clockWith } from '../../support/clock.ts';
import { createContext, thisMachine } from '../../support/context.ts';
import { forEachTest } from '../../support/each-test.ts';
import { foundOf } from '../../support/found.ts';
import { type Handed, startHandler } from '../../support/handler.ts';
import { useJournalFolder } from '../../support/journal.ts';
import { onLoopback } from '../../support/server.ts';

const place = useJournalFolder();
const handler = forEachTest(() => startHandler());
const GRACE_MS = 10_000;
let machine: Machine;

const listeners: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of listeners.splice(0)) await end();
});

beforeEach(() => {
  machine = { ...thisMachine(), userHome: place.folder, sharedFolder: place.folder };
});

interface Given extends Partial<ForwardOptions> {
  /** Called in each wait, of which the clock skips the rest. */
  readonly inWait?: (milliseconds: number) => unknown;
  readonly signal?: AbortSignal;
}

/** Forwards events with these ids; undefined stands for an event without one. */
function forwarding(ids: readonly (string | undefined)[], { inWait, signal, ...options }: Given = {}) {
  const ended: (readonly [id: string | undefined, outcome: string, reason?: string])[] = [];
  /** Milliseconds of the waits between events. */
  const waits: number[] = [];
  const graces: (AbortSignal | undefined)[] = [];
  const reasons: string[] = [];
  const warn = vi.fn();
  const skipping = clockWith({
    sleep: async (milliseconds, ending) => {
      if (milliseconds === GRACE_MS) {
        graces.push(ending);
        return await clock.sleep(milliseconds, ending);
      }
      ending?.throwIfAborted();
      waits.push(milliseconds);
      if (inWait) await inWait(milliseconds);
      else clock.advance(milliseconds);
      await setImmediate();
      ending?.throwIfAborted();
    },
  });
  const done = forwardOnce(
    foundOf(ids.map((eventId) => ({ eventId }))),
    {
      journal: place.file,
      forwardTo: new URL(handler.url),
      forwardTimeout: 60_000,
      concurrency: 1,
      apiToken: 'the token',
      retryFor: 1_000,
      warn,
      onWait: (reason) => reasons.push(reason),
      onEnd: ({ eventId }, { outcome, reason }) =>
        ended.push(reason ? [eventId, outcome, reason.text] : [eventId, outcome]),
      ...options,
    },
    createContext({ machine, clock: skipping, ...(signal ? { signal } : {}) }),
  );
  done.catch(() => undefined);
  return { done, ended, waits, graces, reasons, warn };
}

/** Forwards them to the end. */
async function forwarded(ids: readonly (string | undefined)[], given?: Given) {
  const all = forwarding(ids, given);
  await all.done;
  return all;
}

const idIn = ({ body }: Pick<Handed, 'body'>): string => JSON.parse(body.toString()).eventId;
const handed = () => handler.received.map(idIn);
const accepted = (...ids: string[]) => ids.map((id) => [id, 'accepted']);

/** A listener that holds the journal, and answers of events as `accept` does. */
async function listening(
  accept: (id: string, bytes: string) => Promise<Acceptance> = async () => ({ outcome: 'accepted' }),
  forwardTo: string | null = handler.url,
) {
  const journal = await openJournal(place.file, {}, createContext({ machine }));
  const self = { forwardTo, forwardTimeout: 20_000 };
  const close = await openListenerSocket(journal, machine, self, (body) =>
    accept(idIn({ body }), body.toString()),
  );
  let ended: Promise<unknown> | undefined;
  const end = () => {
    ended ??= Promise.all([close(), journal.close()]);
    return ended;
  };
  listeners.push(end);
  return end;
}

describe('with the journal', () => {
  test('each event is handed over once, byte for byte, in order', async () => {
    const first = await forwarded(['a', 'b', 'c']);
    expect(first).toMatchObject({ ended: accepted('a', 'b', 'c'), waits: [], reasons: [] });
    expect(first.warn).toHaveBeenCalled();
    const bodies = foundOf(['a', 'b', 'c'].map((eventId) => ({ eventId }))).map(({ body }) =>
      body.toString(),
    );
    expect(handler.received.map(({ body }) => body.toString())).toEqual(bodies);
    for (const { method, headers } of handler.received) {
      expect(method).toBe('POST');
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'api-token': 'the token' });
    }
    expect((await forwarded(['c', 'd'])).ended).toEqual([['c', 'duplicate'], ...accepted('d')]);
    expect(handed()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('an event without an id is left, and takes no time from others', async () => {
    const { ended, waits } = await forwarded([undefined, undefined, 'a'], { rate: 1 });
    const reason = "without an 'eventId' there is no way to know whether the handler has it";
    const left = [undefined, 'refused', reason];
    expect([ended, waits]).toEqual([[left, left, ...accepted('a')], []]);
    expect(handed()).toEqual(['a']);
  });

  test('events start as often as the rate allows', async () => {
    const { waits } = await forwarded(['a', 'b', 'c'], { rate: 2 });
    expect(waits).toEqual([500, 500]);
  });

  test('as many events are under way as may be', async () => {
    let [now, most] = [0, 0];
    handler.answer = async () => {
      most = Math.max(most, ++now);
      for (let turn = 0; turn < 20; turn++) await setImmediate();
      now--;
      return 200;
    };
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { ended } = await forwarded(ids, { concurrency: 3 });
    expect([most, ended.map(([id]) => id).sort()]).toEqual([3, ids]);
  });

  test('an event that the handler refuses is left, and handed over the next time', async () => {
    handler.answer = (event) => (idIn(event) === 'a' ? 422 : 200);
    const left = ['a', 'refused', 'the handler answered 422: thanks'];
    expect((await forwarded(['a', 'b'])).ended).toEqual([left, ...accepted('b')]);
    handler.answer = () => 200;
    expect((await forwarded(['a', 'b'])).ended).toEqual([...accepted('a'), ['b', 'duplicate']]);
  });

  test('a handler that is overloaded gets the event again', async () => {
    handler.answer = () => (handler.received.length < 3 ? 503 : 200);
    const { ended, waits, reasons } = await forwarded(['a']);
    expect([ended, waits]).toEqual([accepted('a'), [250, 500]]);
    expect(reasons).toEqual(Array(2).fill('the handler answered 503'));
  });

  test('a handler that takes too long has not answered', async () => {
    handler.answer = () => new Promise(() => undefined);
    const { ended } = await forwarded(['a'], { forwardTimeout: 20, retryFor: 0 });
    const { host } = new URL(handler.url);
    const reason = expect.stringMatching(`^the handler did not answer: ${host} .*0\\.02 s`);
    expect(ended).toEqual([['a', 'refused', reason]]);
  });

  test('an event that the journal could not note is left, and the next one forwarded', async () => {
    const error = new ServiceError('the journal cannot be written: no space left on device (ENOSPC)');
    const once = vi.spyOn(Journal.prototype, 'once').mockRejectedValueOnce(error);
    onTestFinished(() => once.mockRestore());
    const { ended } = await forwarded(['a', 'b']);
    expect(ended).toEqual([['a', 'refused', error.message], ...accepted('b')]);
  });

  test('a defect is thrown, and the journal is free again', async () => {
    const once = vi.spyOn(Journal.prototype, 'once').mockRejectedValueOnce(new TypeError('a defect'));
    onTestFinished(() => once.mockRestore());
    const { done, ended } = forwarding(['a', 'b']);
    await expect(done).rejects.toThrow('a defect');
    expect([ended, handed()]).toEqual([[], []]);
    await place.close(await place.open());
  });

  test('that is removed meanwhile, nothing more is forwarded', async () => {
    handler.answer = async () => {
      await rm(place.file);
      return 200;
    };
    const { done, ended } = forwarding(['a', 'b']);
    await expect(done).rejects.toThrow(`the journal ${place.file} was removed while it was in use`);
    expect([ended, handed()]).toEqual([[], ['a']]);
  });

  test('that is another file, nothing is forwarded', async () => {
    await writeFile(place.file, 'my diary');
    const { done, waits, warn } = forwarding(['a']);
    await expect(done).rejects.toThrow(`--journal: ${place.file} is not a journal of hooktrail`);
    expect([waits, handed()]).toEqual([[], []]);
    expect(warn).not.toHaveBeenCalled();
  });

  test('others may have it after five seconds, for a moment', async () => {
    const steps = [4_999, 1, 0, 4_999, 1, 0];
    handler.answer = () => {
      clock.advance(steps.shift() ?? 0);
      return 200;
    };
    const before: string[][] = [];
    const inWait = async (milliseconds: number) => {
      before.push(handed());
      await place.close(await place.open());
      clock.advance(milliseconds);
    };
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { ended, waits } = await forwarded(ids, { inWait });
    expect([ended, waits]).toEqual([accepted(...ids), [200, 200]]);
    expect(before).toEqual([ids.slice(0, 2), ids.slice(0, 5)]);
  });

  test('there is no moment for others after the last event', async () => {
    handler.answer = () => {
      clock.advance(5_000);
      return 200;
    };
    expect((await forwarded(['a'])).waits).toEqual([]);
  });

  test('a listener that takes it in such a moment gets the other events, however long they take', async () => {
    handler.answer = () => {
      clock.advance(5_000);
      return 200;
    };
    const took: string[] = [];
    const accept = async (id: string) => {
      clock.advance(5_000);
      took.push(id);
      return { outcome: 'accepted' } as const;
    };
    const { ended, waits } = await forwarded(['a', 'b', 'c', 'd'], { inWait: () => listening(accept) });
    expect([ended, waits]).toEqual([accepted('a', 'b', 'c', 'd'), [200]]);
    expect([handed(), took]).toEqual([['a'], ['b', 'c', 'd']]);
  });
});

describe('without a journal', () => {
  test('each event is handed over, and nothing is noted', async () => {
    handler.answer = (event) => (idIn(event) === 'b' ? 422 : 200);
    const { ended, warn } = await forwarded(['a', 'b', 'a'], { journal: undefined });
    expect(ended).toEqual([
      ...accepted('a'),
      ['b', 'refused', 'the handler answered 422: thanks'],
      ...accepted('a'),
    ]);
    expect([handed(), existsSync(place.file)]).toEqual([['a', 'b', 'a'], false]);
    expect(warn).toHaveBeenCalled();
  });

  test('no moment is left for others', async () => {
    handler.answer = () => {
      clock.advance(GRACE_MS);
      return 200;
    };
    const { waits, warn } = await forwarded(['a', 'b'], { journal: undefined });
    expect(waits).toEqual([]);
    expect(warn).toHaveBeenCalledOnce();
  });
});

describe('through a listener', () => {
  test('events go as they are, with its outcome', async () => {
    const took: string[] = [];
    const outcomes = { a: 'accepted', b: 'duplicate', c: 'refused' } as const;
    await listening(async (id, bytes) => {
      took.push(bytes);
      return { outcome: outcomes[id as 'a'], answer: { status: 422, body: 'no' } };
    });
    const { ended, warn, waits } = await forwarded(['a', 'b', 'c']);
    expect(ended).toEqual([
      ['a', 'accepted'],
      ['b', 'duplicate'],
      ['c', 'refused', 'the handler answered 422: no'],
    ]);
    const events = foundOf(['a', 'b', 'c'].map((eventId) => ({ eventId })));
    expect(took).toEqual(events.map(({ body }) => body.toString()));
    expect([handed(), waits]).toEqual([[], []]);
    expect(warn).not.toHaveBeenCalled();
  });

  test('an event that it cannot take yet comes again', async () => {
    let asked = 0;
    await listening(async () =>
      ++asked < 3 ? { outcome: 'refused', answer: { status: 503 } } : { outcome: 'accepted' },
    );
    const { ended, waits, reasons } = await forwarded(['a']);
    expect([ended, waits]).toEqual([accepted('a'), [250, 500]]);
    expect(reasons).toEqual(Array(2).fill('the handler answered 503'));
  });

  test('events that it cannot note are left in the end, and the rest is not tried', async () => {
    let asked = 0;
    await listening(async () => {
      asked++;
      return { outcome: 'refused', answer: { status: 200 }, error: new Error('the disk is full') };
    });
    const { ended } = await forwarded(['a', 'b', 'c', 'd'], { retryFor: 250 });
    const reason = 'the handler did not answer: the listener could not accept the event';
    expect(ended).toEqual([
      ...['a', 'b', 'c'].map((id) => [id, 'refused', reason]),
      ['d', 'refused', 'not tried: the handler had already been given up'],
    ]);
    expect(asked).toBe(4);
  });

  test.each([
    ['http://127.0.0.1:9/other', 'forwards to http://127.0.0.1:9/other'],
    [null, 'forwards to no handler'],
  ])('to another handler (%s) nothing is forwarded', async (other, words) => {
    const accept = vi.fn();
    await listening(accept, other);
    const { done, ended } = forwarding(['a']);
    await expect(done).rejects.toMatchObject({
      exitCode: 2,
      message: `--forward-to: a running \`webhooks listen\` has the journal ${place.file} and ${words}, not to ${handler.url}`,
      next: 'name the same handler, stop the listener, or choose another journal',
    });
    expect([ended, handed()]).toEqual([[], []]);
    expect(accept).not.toHaveBeenCalled();
  });

  test('an event that it never answers is left after five times, and the next one gets as many', async () => {
    const asked: string[] = [];
    await listening((id) => {
      asked.push(id);
      if (id === 'c' || asked.length === 9) return Promise.resolve({ outcome: 'accepted' });
      return Promise.reject(new Error('it broke'));
    });
    const { ended, waits } = await forwarded(['a', 'b', 'c']);
    expect(ended).toEqual([['a', 'refused', 'the listener did not answer'], ...accepted('b', 'c')]);
    expect(asked).toEqual([...Array(5).fill('a'), ...Array(4).fill('b'), 'c']);
    expect(waits).toEqual([]);
  });

  test('of events beside one that it did not answer, none is lost or sent twice', async () => {
    const asked: string[] = [];
    await listening((id) => {
      asked.push(id);
      return asked.length === 1
        ? Promise.reject(new Error('it broke'))
        : Promise.resolve({ outcome: 'accepted' });
    });
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const { ended } = await forwarded(ids, { concurrency: 2 });
    expect(ended.sort()).toEqual(accepted(...ids));
    expect(asked.sort()).toEqual([...ids, asked[0]].sort());
  });

  test('whose listener ends, this process takes the journal, and forwards the rest', async () => {
    const end = await listening((id) => {
      if (id === 'a') return Promise.resolve({ outcome: 'accepted' });
      end();
      return Promise.reject(new Error('it ends'));
    });
    const { ended, warn } = await forwarded(['a', 'b', 'c']);
    expect([ended, handed()]).toEqual([accepted('a', 'b', 'c'), ['b', 'c']]);
    expect(warn).toHaveBeenCalledOnce();
  });

  test('it is found behind a link to its journal', async () => {
    await listening();
    const link = path.join(place.folder, 'link.journal');
    await symlink(place.file, link);
    expect((await forwarded(['a'], { journal: link })).ended).toEqual(accepted('a'));
    expect(handed()).toEqual([]);
  });

  test('it has five seconds to describe itself, and beside its handler fifteen for each event', async () => {
    await listening();
    const limit = vi.spyOn(http.ClientRequest.prototype, 'setTimeout');
    onTestFinished(() => limit.mockRestore());
    await forwarded(['a']);
    expect(limit.mock.calls.map(([milliseconds]) => milliseconds)).toEqual([5_000, 35_000]);
  });
});

describe('a journal whose holder does not answer', () => {
  const forwardedBy =
    'in another container, or of another user, it recovers with `hooktrail webhooks listen --recover`';

  /** Waits for the error, and returns its texts. */
  async function errorOf(done: Promise<void>) {
    const error = await done.then(
      () => expect.fail('it was forwarded'),
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof ServiceError)) throw error;
    return [error.message, adviceText(error.next ?? '', {})];
  }

  test('is waited for, for fifteen seconds', async () => {
    await place.open();
    const steps = [14_999, 1];
    const { done, waits } = forwarding(['a'], { inWait: () => clock.advance(steps.shift() ?? 60_000) });
    expect(await errorOf(done)).toEqual([
      `another hooktrail process (${process.pid}) has the journal ${place.file}, and does not answer this one`,
      `wait for process ${process.pid}, or end it; ${forwardedBy}`,
    ]);
    expect([waits, handed()]).toEqual([[50, 50], []]);
  });

  test('of an unknown holder is an error without its name', async () => {
    await place.close(await place.open());
    const lock = path.join(`${place.file}.lock`, '2.lock');
    await writeFile(lock, 'a sign of life');
    let beats = 0;
    const { done } = forwarding(['a'], {
      inWait: async (milliseconds) => {
        await writeFile(lock, `a sign of life ${beats++}`);
        clock.advance(milliseconds === 50 && beats > 3 ? 16_000 : milliseconds);
      },
    });
    expect(await errorOf(done)).toEqual([
      `another hooktrail process has the journal ${place.file}, and does not answer this one`,
      `run the command again; ${forwardedBy}`,
    ]);
  });

  test('is used once it is free', async () => {
    const journal = await place.open();
    const { ended, waits } = await forwarded(['a'], { inWait: () => place.close(journal) });
    expect([ended, waits]).toEqual([accepted('a'), [50]]);
  });

  test('is left to its listener, which may have been starting', async () => {
    const journal = await place.open();
    const { ended } = await forwarded(['a'], {
      inWait: async () => {
        await place.close(journal);
        await listening();
      },
    });
    expect([ended, handed()]).toEqual([accepted('a'), []]);
  });

  test('is waited for until a signal', async () => {
    await place.open();
    const stop = new AbortController();
    const inWait = () => stop.abort(new InterruptedError('SIGINT'));
    const { done, waits } = forwarding(['a'], { inWait, signal: stop.signal });
    await expect(done).rejects.toThrow('interrupted');
    expect(waits).toEqual([50]);
  });
});

describe('after a signal', () => {
  const stopping = () => {
    const stop = new AbortController();
    return { signal: stop.signal, stop: () => stop.abort(new InterruptedError('SIGINT')) };
  };

  test('the event under way is finished and noted, and no other begins', async () => {
    const { signal, stop } = stopping();
    handler.answer = () => {
      stop();
      return 200;
    };
    const { done, ended, graces } = forwarding(['a', 'b'], { signal });
    await expect(done).rejects.toThrow('interrupted');
    expect([ended, handed()]).toEqual([accepted('a'), ['a']]);
    // Nothing keeps the process any longer.
    expect(graces.map((grace) => grace?.aborted)).toEqual([true]);
    expect((await forwarded(['a'])).ended).toEqual([['a', 'duplicate']]);
  });

  test('no other is looked up in the journal', async () => {
    await forwarded(['b']);
    const { signal, stop } = stopping();
    handler.answer = () => {
      stop();
      return 200;
    };
    const { done, ended } = forwarding(['a', 'b'], { signal });
    await expect(done).rejects.toThrow('interrupted');
    expect(ended).toEqual(accepted('a'));
  });

  test('the event whose turn the rate delays does not begin', async () => {
    const { signal, stop } = stopping();
    const { done, ended, waits } = forwarding(['a', 'b'], { signal, rate: 1, inWait: stop });
    await expect(done).rejects.toThrow('interrupted');
    expect([ended, waits, handed()]).toEqual([accepted('a'), [1_000], ['a']]);
  });

  test('that comes in the moment for others, the journal is not taken again', async () => {
    const { signal, stop } = stopping();
    handler.answer = () => {
      clock.advance(5_000);
      return 200;
    };
    const { done, ended, warn } = forwarding(['a', 'b'], { signal, inWait: stop });
    await expect(done).rejects.toThrow('interrupted');
    expect(ended).toEqual(accepted('a'));
    expect(warn).toHaveBeenCalledOnce();
  });

  test('the handler has ten seconds for the event under way', async () => {
    const { signal, stop } = stopping();
    handler.answer = () => {
      stop();
      return new Promise(() => undefined);
    };
    const { done, ended } = forwarding(['a'], { signal });
    expect(await clock.asleep(GRACE_MS)).toBe(GRACE_MS);
    clock.advance(GRACE_MS);
    await expect(done).rejects.toThrow('interrupted');
    expect(ended).toEqual([]);
    await place.close(await place.open());
  });

  test('so has the listener', async () => {
    const { signal, stop } = stopping();
    await listening(() => {
      stop();
      return new Promise(() => undefined);
    });
    const { done, ended } = forwarding(['a'], { signal });
    await clock.asleep(GRACE_MS);
    clock.advance(GRACE_MS);
    await expect(done).rejects.toThrow('interrupted');
    expect([ended, handed()]).toEqual([[], []]);
  });

  test('that comes when all is done, nothing is begun', async () => {
    const { signal, stop } = stopping();
    const { graces } = await forwarded(['a'], { signal });
    stop();
    await setImmediate();
    expect(graces).toEqual([]);
  });
});

test('no connection to the handler is left', async () => {
  let open = 0;
  const server = createServer((_, response) => response.end());
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => {
    open++;
    socket.on('close', () => open--);
  });
  await using loopback = await onLoopback(server);
  await forwarded(['a'], { forwardTo: new URL(loopback.origin) });
  await expect.poll(() => open, { timeout: 2_000 }).toBe(0);
});

test('no events take no journal', async () => {
  await forwarded([]);
  expect(existsSync(place.file)).toBe(false);
});
