import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ClosedPipeError, InterruptedError } from '../../../src/errors.ts';
import { type Delivery, readDelivery } from '../../../src/webhooks/delivery.ts';
import type { HandlerAnswer } from '../../../src/webhooks/forward.ts';
import { Intake, summaryText } from '../../../src/webhooks/listen/intake.ts';
import { LimitedWarnings } from '../../../src/webhooks/listen/limited-warnings.ts';
import { clock } from '../../support/clock.ts';
import { reporterTo } from '../../support/outputs.ts';

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const deliveryOf = (eventId: string): Delivery =>
  readDelivery(Buffer.from(JSON.stringify({ eventId, eventType: 'a.b' })), {
    contentType: 'application/json',
    apiToken: 'token',
  });

function warningReporter() {
  const warnings: string[] = [];
  return { warnings, reporter: reporterTo((line) => warnings.push(line)) };
}

interface Setting {
  readonly answer?: HandlerAnswer | Error;
  readonly hasHandler?: boolean;
  readonly subscription?: string;
  /** What printing an event, and what writing its id to the journal throws. */
  readonly unprinted?: Error;
  readonly unwritten?: Error;
}

/** An intake whose journal, handler and printer note in `done` what they did, in order. */
function takingIn({ answer = { status: 200 }, hasHandler = true, ...setting }: Setting = {}) {
  const done: string[] = [];
  const known = new Set<string>();
  const { warnings, reporter } = warningReporter();
  const forward = async ({ eventId, apiToken }: Delivery) => {
    done.push(`forwarded ${eventId} with ${apiToken}`);
    clock.advance(7);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const intake = new Intake({
    token: () => 'token',
    journal: {
      async once(key: string, handOn: () => Promise<boolean>) {
        if (known.has(key)) return 'duplicate';
        if (!(await handOn())) return 'refused';
        if (setting.unwritten) throw setting.unwritten;
        done.push('journaled');
        known.add(key);
        return 'accepted';
      },
    },
    handler: hasHandler ? { forward } : undefined,
    forwardTo: hasHandler ? new URL('http://127.0.0.1:3000/hooks') : undefined,
    subscription: setting.subscription,
    clock,
    printer: {
      async printEvent() {
        if (setting.unprinted) throw setting.unprinted;
        done.push('printed');
      },
      printOutcome: ({ outcome, ms, delivery }: { outcome: string; ms: number; delivery: Delivery }) =>
        void done.push(`${outcome} ${delivery.eventId} in ${ms} ms`),
    },
    reporter,
  } as unknown as ConstructorParameters<typeof Intake>[0]);
  return { intake, done, warnings };
}

const NONE = { accepted: 0, duplicates: 0, failed: 0, rejected: 0, recovered: 0 };

describe('a delivery', () => {
  test('is forwarded, printed and journaled, in this order, and once', async () => {
    const { intake, done, warnings } = takingIn();
    expect(await intake.accept(deliveryOf('a'))).toEqual({
      outcome: 'accepted',
      answer: { status: 200 },
      error: undefined,
    });
    expect(done).toEqual(['forwarded a with token', 'printed', 'journaled', 'accepted a in 7 ms']);
    expect(await intake.accept(deliveryOf('a'))).toMatchObject({ outcome: 'duplicate', answer: undefined });
    expect(done.slice(4)).toEqual(['duplicate a in 0 ms']);
    expect([intake.counts, warnings]).toEqual([{ ...NONE, accepted: 1, duplicates: 1 }, []]);
  });

  test('without a handler is printed and journaled', async () => {
    const { intake, done } = takingIn({ hasHandler: false });
    expect(await intake.accept(deliveryOf('a'))).toEqual({
      outcome: 'accepted',
      answer: undefined,
      error: undefined,
    });
    expect(done).toEqual(['printed', 'journaled', 'accepted a in 0 ms']);
  });

  test('that the handler refuses is neither printed nor journaled, and comes again', async () => {
    const { intake, done, warnings } = takingIn({ answer: { status: 500, body: 'down' } });
    for (const _ of [1, 2])
      expect(await intake.accept(deliveryOf('a'))).toMatchObject({
        outcome: 'refused',
        answer: { status: 500 },
      });
    expect(done).toEqual(Array(2).fill(['forwarded a with token', 'refused a in 7 ms']).flat());
    expect([intake.counts.failed, warnings]).toEqual([
      2,
      Array(2).fill('incomplete: a: the handler answered 500: down'),
    ]);
  });

  test.each([
    [{}, ''],
    [{ subscription: 'sub-1' }, ' --subscription sub-1'],
  ])('that the handler refuses can be sent again by its GUID, with %j', async (setting, whose) => {
    const { intake, warnings } = takingIn({ ...setting, answer: { failure: 'refused' } });
    await intake.accept(deliveryOf(GUID));
    expect(warnings).toEqual([
      `incomplete: ${GUID}: the handler did not answer: refused; \`hooktrail webhooks replay --id ${GUID} --forward-to http://127.0.0.1:3000/hooks${whose}\` sends it again`,
    ]);
  });

  test.each<[string, Setting, string[]]>([
    ['that cannot be forwarded', { answer: new Error('a defect') }, []],
    ['whose line cannot be printed', { unprinted: new Error('a defect') }, []],
    ['whose id cannot be written', { unwritten: new Error('a defect') }, ['printed']],
  ])('%s is refused with the reason', async (_, setting, printed) => {
    const { intake, done, warnings } = takingIn(setting);
    const { outcome, error } = await intake.accept(deliveryOf('a'));
    expect([outcome, error?.message]).toEqual(['refused', 'a defect']);
    expect(done).toEqual(['forwarded a with token', ...printed, 'refused a in 7 ms']);
    expect([intake.counts.failed, warnings]).toEqual([1, ['incomplete: a: a defect']]);
  });

  test.each([new ClosedPipeError(), new InterruptedError('SIGINT')])(
    'that fails because the program ends is no fault of its own: %s',
    async (unprinted) => {
      const { intake, warnings } = takingIn({ unprinted });
      expect((await intake.accept(deliveryOf('a'))).outcome).toBe('refused');
      expect(warnings).toEqual([]);
    },
  );
});

describe('a found event', () => {
  const body = (item: object) => Buffer.from(JSON.stringify(item));

  test('is accepted as a delivery is, and counted as recovered', async () => {
    const { intake, done } = takingIn();
    const accepting = intake.acceptFound(body({ eventId: 'a' }));
    expect(intake.foundUnderWay).toBe(1);
    expect((await accepting).outcome).toBe('accepted');
    expect(intake.foundUnderWay).toBe(0);
    expect(done[0]).toBe('forwarded a with token');
    for (const _ of [1, 2])
      expect((await intake.acceptFound(body({ eventId: 'a' }))).outcome).toBe('duplicate');
    expect(intake.counts).toEqual({ ...NONE, accepted: 1, duplicates: 2, recovered: 1 });
  });

  test('that could not be a delivery is refused with the reason, and handed to nobody', async () => {
    const { intake, done, warnings } = takingIn();
    const { outcome, error } = await intake.acceptFound(body({ other: 1 }));
    expect([outcome, error?.message]).toEqual(['refused', "the body has no 'eventId'"]);
    expect([done, intake.foundUnderWay]).toEqual([[], 0]);
    expect(warnings).toEqual(["incomplete: a found event cannot be handed over: the body has no 'eventId'"]);
  });
});

describe('warnings', () => {
  const settle = async () => {
    for (let turns = 0; turns < 4; turns++) await turn();
  };

  test('of one second are the first ones, and then the latest with the number of the others', async () => {
    clock.skips = 0;
    const { warnings, reporter } = warningReporter();
    const limited = new LimitedWarnings(2, reporter, clock);
    for (const text of ['a', 'b', 'c', 'd', 'e']) limited.report(text, `mend ${text}`);
    expect(warnings).toEqual(['incomplete: a; mend a', 'incomplete: b; mend b']);
    clock.advance(1000);
    await settle();
    expect(warnings.slice(2)).toEqual(['incomplete: e (and 2 more since the last warning); mend e']);
    // That is the first of the next second.
    for (const text of ['f', 'g']) limited.report(text);
    expect(warnings.slice(3)).toEqual(['incomplete: f']);
    limited.close();
    expect(warnings.slice(4)).toEqual(['incomplete: g']);
  });

  test('that are not too many are not told again', async () => {
    clock.skips = 0;
    const { warnings, reporter } = warningReporter();
    const limited = new LimitedWarnings(1, reporter, clock);
    limited.report('a');
    clock.advance(1000);
    await settle();
    limited.report('b');
    limited.close();
    expect(warnings).toEqual(['incomplete: a', 'incomplete: b']);
  });

  test('of requests that are no deliveries are one a second, of failures twenty', async () => {
    clock.skips = 0;
    const { intake, warnings } = takingIn({ answer: { status: 500 } });
    intake.noteRejected(401, 'a wrong token');
    intake.noteRejected(400, 'no JSON');
    for (let at = 0; at < 22; at++) await intake.accept(deliveryOf(String(at)));
    expect(warnings[0]).toBe('incomplete: refused with 401: a wrong token');
    expect(warnings).toHaveLength(21);
    intake.close();
    expect(warnings.slice(21)).toEqual([
      'incomplete: refused with 400: no JSON',
      'incomplete: 21: the handler answered 500 (and 1 more since the last warning)',
    ]);
    expect(intake.counts).toEqual({ ...NONE, failed: 22, rejected: 2 });
  });
});

test.each([
  [{}, '0 accepted, 0 duplicates, 0 failed tries, 0 rejected'],
  [
    { accepted: 1200, duplicates: 1, failed: 1, rejected: 1 },
    '1,200 accepted, 1 duplicate, 1 failed try, 1 rejected',
  ],
  [
    { accepted: 2, recovered: 1 },
    '2 accepted, 0 duplicates, 0 failed tries, 0 rejected; 1 of the accepted was recovered',
  ],
  [
    { accepted: 2, duplicates: 2, failed: 2, rejected: 2, recovered: 2 },
    '2 accepted, 2 duplicates, 2 failed tries, 2 rejected; 2 of the accepted were recovered',
  ],
])('%j reads %j', (counts, text) => {
  expect(summaryText({ ...NONE, ...counts })).toBe(text);
});
