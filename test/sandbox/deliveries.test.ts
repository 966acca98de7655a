import { describe, expect, test } from 'vitest';
import { withoutDelivery } from '../../src/sandbox/shapes/flat-shape.ts';
import { SHAPES, type ShapeName } from '../../src/sandbox/shapes/service-shape.ts';
import { forEachTest } from '../support/each-test.ts';
import { startHandler } from '../support/handler.ts';
import { createHome } from '../support/home.ts';
import { startHooktrail } from '../support/program.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../support/sandbox.ts';
import { accessTokenOf } from '../support/sandbox-client.ts';

const quick = { apiToken: 'tok-en', spreadMs: 20, retryDelaysMs: [10, 20] };

async function delivering(
  url: string,
  more: Partial<SandboxOptions['deliveries']> = {},
  shape?: ShapeName,
): Promise<Sandbox> {
  const deliveries = { url, ...quick, ...more };
  return await startSandbox({ events: 5, autoApprove: true, deliveries, ...(shape ? { shape } : {}) });
}

async function settled({ control }: Sandbox): Promise<void> {
  await expect.poll(() => control.deliveries.pending(), { interval: 5 }).toBe(0);
}

function statusOf({ control }: Sandbox, eventId: string): string {
  const event = control.store.find(eventId);
  expect(event && JSON.parse(control.itemText(event)).publishStatus).toBe(event?.publishStatus);
  return String(event?.publishStatus);
}

const handler = forEachTest(startHandler);

describe('deliveries of the sandbox', () => {
  test.each(SHAPES)(
    'carry the Api-Token and the event (%s), only for events added while it runs',
    async (shape) => {
      await using sandbox = await delivering(handler.url, {}, shape);
      const event = sandbox.control.addEvent({ eventType: 'document.signed' });
      await settled(sandbox);
      expect(handler.received).toHaveLength(1);
      const [{ method, url, headers, body }] = handler.received as [(typeof handler.received)[number]];
      expect([method, url]).toEqual(['POST', '/hooks?tenant=1']);
      expect(headers).toMatchObject({
        'api-token': 'tok-en',
        'content-type': 'application/json; charset=utf-8',
      });
      const { publishStatus: _status, delivery: _delivery, ...rest } = JSON.parse(event.json);
      expect(JSON.parse(body.toString())).toEqual(shape === 'flat' ? rest : rest.eventData);
      expect(JSON.parse(body.toString()).eventId).toBe(event.eventId);
      expect(statusOf(sandbox, event.eventId)).toBe('SUCCESS');
    },
  );

  test('leave the text of the rest as it is', () => {
    const json =
      '{"eventId":"a","publishStatus":"FAILED","n":1.10,"delivery":{"lastError":{"x":1},"attempts":5}}';
    expect(withoutDelivery(json)).toBe('{"eventId":"a","n":1.10}');
    expect(withoutDelivery('{"eventId":"a"}')).toBe('{"eventId":"a"}');
  });

  test('arrive out of order, and some twice', async () => {
    await using sandbox = await delivering(handler.url, { duplicates: 0.5 });
    const added = Array.from({ length: 60 }, () => sandbox.control.addEvent().eventId);
    await settled(sandbox);
    const got = handler.received.map(({ body }) => JSON.parse(body.toString()).eventId as string);
    const first = got.filter((id, index) => got.indexOf(id) === index);
    expect(first.toSorted()).toEqual(added.toSorted());
    expect(first).not.toEqual(added);
    const twice = [...handler.taken.values()].filter((times) => times === 2).length;
    expect(twice).toBeGreaterThan(15);
    expect(twice).toBeLessThan(45);
    expect(got).toHaveLength(60 + twice);
  });

  test('that fail are repeated; the event is FAILED until a try succeeds', async () => {
    await using sandbox = await delivering(handler.url);
    const statuses: string[] = [];
    handler.answer = ({ body }) => {
      statuses.push(statusOf(sandbox, JSON.parse(body.toString()).eventId));
      return statuses.length < 3 ? 500 : 200;
    };
    const recovered = sandbox.control.addEvent();
    await settled(sandbox);
    expect(statuses).toEqual(['SUCCESS', 'FAILED', 'FAILED']);
    expect(statusOf(sandbox, recovered.eventId)).toBe('SUCCESS');
    handler.answer = () => 404;
    const failed = sandbox.control.addEvent();
    await settled(sandbox);
    expect(handler.received).toHaveLength(6);
    expect(statusOf(sandbox, failed.eventId)).toBe('FAILED');
  });

  test('fail if nobody listens', async () => {
    const handler = await startHandler();
    await using sandbox = await delivering(handler.url);
    await handler[Symbol.asyncDispose]();
    const { eventId } = sandbox.control.addEvent();
    await settled(sandbox);
    expect(statusOf(sandbox, eventId)).toBe('FAILED');
  });

  test('that succeed later turn a FAILED event into SUCCESS', async () => {
    await using sandbox = await delivering(handler.url, { duplicates: 1, spreadMs: 400, retryDelaysMs: [] });
    const added = Array.from({ length: 20 }, () => sandbox.control.addEvent().eventId);
    const seen = new Set<string>();
    handler.answer = ({ body }) => {
      const { eventId } = JSON.parse(body.toString());
      // The first of two deliveries is refused, whichever that is.
      return seen.size === seen.add(eventId).size ? 200 : 503;
    };
    await settled(sandbox);
    for (const eventId of added) expect(statusOf(sandbox, eventId)).toBe('SUCCESS');
    expect(handler.received).toHaveLength(40);
  });
});

describe('hooktrail sandbox --deliver-to', () => {
  test('adds events at the given rate and delivers them', async () => {
    await using home = await createHome();
    const program = startHooktrail(
      [
        ...['sandbox', '--events', '10', '--json', '--auto-approve'],
        ...['--deliver-to', handler.url, '--api-token', 'right', '--duplicates', '0', '--rate', '50'],
      ],
      home,
    );
    const [line] = await program.printed('stdout', /^.*\n/);
    await accessTokenOf({ settings: JSON.parse(line) });
    await expect.poll(() => handler.taken.size).toBeGreaterThan(20);
    expect(handler.received.every(({ headers }) => headers['api-token'] === 'right')).toBe(true);
    program.kill('SIGTERM');
    expect((await program.finished).code).toBe(143);
  });
});
