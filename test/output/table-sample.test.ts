import { expect, test } from 'vitest';
import { createItemWriter } from '../../src/output/formats.ts';
import { fakeOutput, fakeReporter, itemContext, pageOf } from '../support/outputs.ts';

const event = (eventType: string) => `{"eventType":"${eventType}","eventId":"1"}`;

test('a sample makes columns wide enough for rows to come, and is not printed', async () => {
  const stdout = fakeOutput(60);
  const sample = pageOf([event('recipient.authentication_failed')]);
  const options = { format: 'table', list: 'events', sample } as const;
  const writer = await createItemWriter(options, itemContext(stdout), fakeReporter());
  await writer.write(pageOf([event('a')]));
  await writer.write(pageOf([event('recipient.authentication_failed')]));
  await writer.end();
  expect(stdout.text).toBe(
    [
      'eventType                        eventId',
      'a                                      1',
      'recipient.authentication_failed        1',
      '',
    ].join('\n'),
  );
});
