import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { FetchPage, PageAnswer } from '../../src/paging/page.ts';
import { inSlots } from '../../src/paging/request-slots.ts';

const ANSWER = {} as PageAnswer;

/** A client whose answers come when they are told to, in slots. */
function createClient(width: () => number) {
  const sent: string[] = [];
  const ends = new Map<string, { end: (answer: PageAnswer) => void; fail: (error: Error) => void }>();
  const fetchPage: FetchPage = (url) => {
    sent.push(url.pathname);
    return new Promise((end, fail) => void ends.set(url.pathname, { end, fail }));
  };
  const client = inSlots({ baseUrl: new URL('https://events.example.com'), fetchPage }, width);
  const ask = (path: string, signal?: AbortSignal) =>
    client.fetchPage(new URL(path, client.baseUrl), signal).catch(({ message }: Error) => message);
  const endOf = (path: string) => ends.get(path) as NonNullable<ReturnType<typeof ends.get>>;
  return { sent, ask, endOf };
}

test('requests beyond the width wait for their turn, also when one fails', async () => {
  let width = 2;
  const { sent, ask, endOf } = createClient(() => width);
  const answers = ['/a', '/b', '/c', '/d'].map((path) => ask(path));
  await turn();
  expect(sent).toEqual(['/a', '/b']);
  endOf('/b').fail(new Error('of b'));
  await turn();
  expect(sent).toEqual(['/a', '/b', '/c']);
  // A service that is busy lowers the width.
  width = 1;
  endOf('/a').end(ANSWER);
  await turn();
  expect(sent).toEqual(['/a', '/b', '/c']);
  endOf('/c').end(ANSWER);
  await turn();
  endOf('/d').end(ANSWER);
  expect(await Promise.all(answers)).toEqual([ANSWER, 'of b', ANSWER, ANSWER]);
});

test('a request that is aborted while it waits is not sent', async () => {
  const { sent, ask, endOf } = createClient(() => 1);
  const abort = new AbortController();
  const answers = [ask('/a'), ask('/b', abort.signal), ask('/c')];
  await turn();
  abort.abort(new Error('ended'));
  endOf('/a').end(ANSWER);
  await turn();
  expect(sent).toEqual(['/a', '/c']);
  endOf('/c').end(ANSWER);
  expect(await Promise.all(answers)).toEqual([ANSWER, 'ended', ANSWER]);
});
