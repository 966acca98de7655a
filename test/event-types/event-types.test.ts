import { expect, test } from 'vitest';
import { startSearching } from '../support/searching.ts';

const body = (items: string) => `{"href":"x","count":2,"items":${items}}`;

test('event types are listed unchanged, in one request without a query', async () => {
  await using searching = await startSearching({ events: 1 });
  const items = '[{"name":"b","n":1.10,"n":9007199254740993},"a"]';
  searching.sandbox.control.fault('event-types', { kind: 'status', status: 200, body: body(items) });
  expect(await searching.run(['event-types', '--ndjson'])).toEqual({
    code: 0,
    stdout: '{"name":"b","n":1.10,"n":9007199254740993}\n"a"\n',
    stderr: '',
  });
  const { url } = searching.sandbox.log.at(-1) as { url: string };
  expect(url).toMatch(/\/event-types$/);
});

test('--match keeps those with the text in a value, ignoring case', async () => {
  await using searching = await startSearching({ events: 1 });
  const items = '[{"name":"a","text":{"deep":["Signed"]}},{"signed":"b"},"SIGNED"]';
  searching.sandbox.control.fault('event-types', { kind: 'status', status: 200, body: body(items) });
  const { stdout } = await searching.run(['event-types', '--match', 'sIgned', '--ndjson']);
  expect(stdout).toBe('{"name":"a","text":{"deep":["Signed"]}}\n"SIGNED"\n');
});

test('a CSV without a type has the header of one', async () => {
  await using searching = await startSearching({ events: 1 });
  const { stdout } = await searching.run(['event-types', '--match', 'nothing', '--csv']);
  expect(stdout).toBe('eventType,description\r\n');
});

test('an error of the service is reported with its request; JSON stays valid', async () => {
  await using searching = await startSearching({ events: 1 });
  const answer = '{"code":"types.closed","message":"Not today"}';
  searching.sandbox.control.fault('event-types', { kind: 'status', status: 400, body: answer });
  expect(await searching.run(['event-types', '--json'])).toEqual({
    code: 1,
    stdout: '[]\n',
    stderr:
      'error: the event types cannot be listed: the service answered 400 Bad Request\n' +
      '  code: types.closed\n  message: Not today\n',
  });
});
