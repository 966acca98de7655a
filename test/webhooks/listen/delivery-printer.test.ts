import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Output } from '../../../src/context.ts';
import { type Palette, plain } from '../../../src/terminal/palette.ts';
import { TimeZone, UTC } from '../../../src/time/time-zone.ts';
import { readDelivery } from '../../../src/webhooks/delivery.ts';
import type { Acceptance } from '../../../src/webhooks/journal.ts';
import { DeliveryPrinter } from '../../../src/webhooks/listen/delivery-printer.ts';
import { clock } from '../../support/clock.ts';
import { fakeOutput } from '../../support/context.ts';

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const deliveryOf = (fields: object | string) =>
  readDelivery(Buffer.from(typeof fields === 'string' ? fields : JSON.stringify(fields)), {
    contentType: 'application/json',
    apiToken: 'token',
  });

/** A palette that names the colours. */
const named: Palette = {
  ...plain,
  good: (text) => `<good ${text}>`,
  bad: (text) => `<bad ${text}>`,
  dim: (text) => `<dim ${text}>`,
};

/** The line of a delivery on a terminal of that many columns. */
async function lineOf(
  fields: object,
  columns: number,
  ended: Acceptance & { readonly ms?: number } = { outcome: 'accepted' },
  { zone = UTC, palette = plain } = {},
) {
  const stdout = fakeOutput(columns);
  const printer = new DeliveryPrinter(zone, palette, { stdout, clock });
  printer.printOutcome({ ms: 12, ...ended, delivery: deliveryOf(fields) });
  await printer.flush();
  return stdout.text;
}

describe('on a pipe', () => {
  test('an event is one line, and its outcome none', async () => {
    const stdout = fakeOutput();
    const printer = new DeliveryPrinter(UTC, plain, { stdout, clock });
    const delivery = deliveryOf(`\ufeff{ "eventId" : "a",\n "n": 1.10 }\r\n`);
    await printer.printEvent(delivery);
    expect(stdout.text).toBe('{"eventId":"a","n":1.10}\n');
    printer.printOutcome({ outcome: 'accepted', ms: 1, delivery });
    await printer.flush();
    expect(stdout.writes).toBe(1);
  });

  test('events that arrive together are written together, each with its line end', async () => {
    const stdout = fakeOutput();
    const printer = new DeliveryPrinter(UTC, plain, { stdout, clock });
    await Promise.all(['a', 'b', 'c'].map((eventId) => printer.printEvent(deliveryOf({ eventId }))));
    expect([stdout.text, stdout.writes]).toEqual(['{"eventId":"a"}\n{"eventId":"b"}\n{"eventId":"c"}\n', 1]);
  });

  test('an event is printed when it is written whole: it is not accepted before', async () => {
    let isWritten = false;
    const write: Output['write'] = async (_, allOrNothing) => {
      await setImmediate();
      isWritten = allOrNothing === true;
    };
    const printer = new DeliveryPrinter(UTC, plain, { stdout: { ...fakeOutput(), write }, clock });
    await printer.printEvent(deliveryOf({ eventId: 'a' }));
    expect(isWritten).toBe(true);
  });

  test('an event that cannot be written fails', async () => {
    const write = () => Promise.reject(new Error('no reader'));
    const printer = new DeliveryPrinter(UTC, plain, { stdout: { ...fakeOutput(), write }, clock });
    await expect(printer.printEvent(deliveryOf({ eventId: 'a' }))).rejects.toThrow('no reader');
  });
});

describe('on a terminal', () => {
  test('an event is no line: its outcome is', async () => {
    const stdout = fakeOutput(80);
    const printer = new DeliveryPrinter(UTC, plain, { stdout, clock });
    await printer.printEvent(deliveryOf({ eventId: 'a' }));
    await printer.flush();
    expect(stdout.writes).toBe(0);
  });

  test('a line that cannot be written fails nothing', async () => {
    const write = () => Promise.reject(new Error('no terminal'));
    const printer = new DeliveryPrinter(UTC, plain, { stdout: { ...fakeOutput(80), write }, clock });
    printer.printOutcome({ outcome: 'accepted', ms: 1, delivery: deliveryOf({ eventId: 'a' }) });
    await expect(printer.flush()).resolves.toBeUndefined();
  });

  const LONG = 'recipient.authenticated.by.sms.22';

  test.each([
    [10, '12:00:00  recipie…  0f8fad5…  accepted'],
    [41, '12:00:00  recipie…  0f8fad5…  accepted'],
    [42, '12:00:00  recipien…  0f8fad5…  accepted'],
    [48, '12:00:00  recipient.auth…  0f8fad5…  accepted'],
    [79, '12:00:00  recipient.authenticated.by.sms.…  0f8fad5…  accepted'],
    [80, `12:00:00  recipient.authenti…  ${GUID}  accepted`],
    [99, `12:00:00  recipient.authenticated.by.sms.…  ${GUID}  accepted`],
    [100, `12:00:00  recipient.authenticated.by.sms…  ${GUID}  accepted      12 ms`],
    [200, `12:00:00  recipient.authenticated.by.sms.…  ${GUID}  accepted      12 ms`],
  ])('of %i columns the line fits, and has as much as there is room for', async (columns, line) => {
    expect(await lineOf({ eventId: GUID, eventType: LONG }, columns)).toBe(`${line}\n`);
  });

  test('an id and a type that fill their columns are whole, and shorter ones are filled up', async () => {
    const type = LONG.slice(0, 32);
    expect(await lineOf({ eventId: '12345678', eventType: type }, 79)).toBe(
      `12:00:00  ${type}  12345678  accepted\n`,
    );
    expect(await lineOf({ eventId: '123456789', eventType: 'a' }, 79)).toBe(
      `12:00:00  ${'a'.padEnd(32)}  1234567…  accepted\n`,
    );
    expect(await lineOf({ eventId: 'short', eventType: 'a' }, 99)).toBe(
      `12:00:00  ${'a'.padEnd(32)}  ${'short'.padEnd(36)}  accepted\n`,
    );
  });

  test('an id that is no GUID takes room from the type, and both are inert', async () => {
    const eventId = `\u001b[31m${'x'.repeat(39)}`;
    expect(await lineOf({ eventId, eventType: 'a\nb.of.order' }, 90)).toBe(
      `12:00:00  a\\u000ab.of.ord…  \\u001b[31m${'x'.repeat(39)}  accepted\n`,
    );
  });

  test.each<[Acceptance & { readonly ms?: number }, string]>([
    [{ outcome: 'accepted' }, '<good accepted >  <dim    12 ms>'],
    [{ outcome: 'accepted', answer: { status: 204 }, ms: 1.5 }, '<good 204      >  <dim     2 ms>'],
    [{ outcome: 'accepted', answer: { status: 200 }, ms: 123_456 }, '<good 200      >  <dim 123456 ms>'],
    [{ outcome: 'duplicate', answer: { status: 200 } }, '<dim duplicate>  <dim    12 ms>'],
    [{ outcome: 'refused', answer: { status: 500 } }, '<bad 500      >  <dim    12 ms>'],
    [{ outcome: 'refused', answer: { failure: 'reset' } }, '<bad no answer>  <dim    12 ms>'],
    [{ outcome: 'refused' }, '<bad refused  >  <dim    12 ms>'],
  ])('%j reads %s', async (ended, said) => {
    const line = await lineOf({ eventId: GUID, eventType: 'a' }, 120, ended, { zone: UTC, palette: named });
    expect(line).toBe(`<dim 12:00:00>  ${'a'.padEnd(32)}  ${GUID}  ${said}\n`);
  });

  test('without a duration nothing stands behind the outcome', async () => {
    const ended = { outcome: 'refused', answer: { status: 422 } } as const;
    expect(await lineOf({ eventId: 'a' }, 60, ended, { zone: UTC, palette: named })).toBe(
      `<dim 12:00:00>  ${'-'.padEnd(27)}  a         <bad 422>\n`,
    );
  });

  test('the time is that of the zone, with its offset, and the line has less room', async () => {
    const zone = new TimeZone('Asia/Kolkata');
    const line = await lineOf({ eventId: 'a', eventType: LONG }, 60, undefined, { zone, palette: plain });
    expect(line).toBe('17:30:00+05:30  recipient.authentica…  a         accepted\n');
    clock.set('2026-11-20T23:59:59.999Z');
    expect(await lineOf({ eventId: 'a' }, 60)).toMatch(/^23:59:59 {2}-/);
  });
});
