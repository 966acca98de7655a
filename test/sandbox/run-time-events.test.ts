import { describe, expect, test } from 'vitest';
import { useEventService } from '../support/event-service.ts';
import { startSandbox } from '../support/sandbox.ts';

const service = useEventService();

describe('events at run time', () => {
  test('are found at once, each in its place', async () => {
    // Later than those of the other tests, which share the sandbox.
    const createdOn = '2026-11-20T12:30:00.0000001Z';
    const added = service.sandbox.control.addEvent({
      publishStatus: 'FAILED',
      eventType: 'document.signed',
      createdOn,
    });
    const page = await service.json('/integrator-events?limit(1,1)');
    expect(page.items[0]).toEqual(JSON.parse(added.json));
    const late = service.sandbox.control.addEvent({ createdOn: '2026-11-10T10:00:00.0000001Z' });
    const found = await service.json('/integrator-events?gt(createdOn,2026-11-10T10:00:00Z)&limit(1,500)');
    expect(found.items.at(-1)).toMatchObject({
      eventId: late.eventId,
      createdOn: '2026-11-10T10:00:00.0000001Z',
    });
  });

  test('may have any text', async () => {
    const text = '{"eventId":1e400,"a":1,"a":2,"s":"\\u001b[31m <script>"}';
    const { eventId } = service.sandbox.control.addEvent({ json: text });
    expect((await service.get(`/integrator-events?eq(eventId,${eventId})`)).body.toString()).toContain(
      `"items":[${text}]`,
    );
  });

  test('change their publish status', async () => {
    const { eventId } = service.sandbox.control.addEvent({ publishStatus: 'FAILED' });
    const key = `eq(eventId,${eventId})`;
    expect(service.sandbox.control.setStatus(eventId, 'SUCCESS')).toBe(true);
    expect((await service.json(`/integrator-events?${key}&eq(publishStatus,FAILED)`)).count).toBe(0);
    const page = await service.json<{ items: unknown[] }>(
      `/integrator-events?${key}&eq(publishStatus,SUCCESS)`,
    );
    expect(page.items[0]).toMatchObject({ publishStatus: 'SUCCESS', delivery: { lastError: null } });
    expect(service.sandbox.control.setStatus('00000000-0000-4000-8000-000000000000', 'SUCCESS')).toBe(false);
  });

  test('keep coming while the sandbox runs', async () => {
    await using sandbox = await startSandbox({ events: 0, rate: 200 });
    await expect.poll(() => sandbox.control.store.size).toBeGreaterThan(3);
  });
});
