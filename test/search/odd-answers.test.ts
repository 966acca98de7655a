import path from 'node:path';
import { expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { HARMLESS, IN_UTF8, inBytes, REFUSED, WRONG_BODIES } from '../support/odd-answers.ts';
import { idsOf, startSearching } from '../support/searching.ts';

const at = forEachTest(() => startSearching({ events: 20 }));
const SEARCH = ['--ndjson', '--page-size', '10', '--concurrency', '1'];

test.each(Object.entries(HARMLESS))('a search passes over %s', async (_, odd) => {
  at.sandbox.control.fault('events', inBytes(odd), inBytes(odd));
  const { code, stdout, stderr } = await at.search(...SEARCH);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(idsOf(stdout)).toEqual(at.control.store.newestIds(20));
});

test.each(Object.entries(REFUSED))(
  '%s is named at once, and not asked for again',
  async (_, [odd, reason]) => {
    at.sandbox.control.fault('events', inBytes(odd));
    const { host } = new URL(at.sandbox.settings.baseUrl);
    expect(await at.search(...SEARCH)).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${host} does not answer with valid HTTP (${reason})\nnext: check the URL; its server, or a proxy before it, has to answer with valid HTTP/1.1\n`,
    });
    expect(at.queries().length).toBe(1);
  },
);

test('a content encoding that is none is named at once', async () => {
  at.sandbox.control.fault('events', inBytes(IN_UTF8));
  const { host } = new URL(at.sandbox.settings.baseUrl);
  expect(await at.search(...SEARCH)).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: the answer of ${host} has the content encoding 'utf-8', which was not asked for\nnext: check the URL; its server, or a proxy before it, has to answer with valid HTTP/1.1\n`,
  });
  expect(at.queries().length).toBe(1);
});

test('a page that is cut off is asked for again', async () => {
  at.sandbox.control.fault('events', inBytes(WRONG_BODIES['a body that is cut off']));
  const { code, stdout } = await at.search(...SEARCH);
  expect([code, idsOf(stdout).length, at.queries().length]).toEqual([0, 20, 3]);
});

test('links that lead to an inner address are not followed, which is said once', async () => {
  at.control.behaviour.links = 'inner';
  const { origin } = new URL(at.sandbox.settings.baseUrl);
  const { code, stdout, stderr } = await at.search('--ndjson', '--page-size', '5');
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `warning: the service's links to the next page lead to http://inner.example:8080, not to ${origin}: pages are asked for by number\n`,
  });
  expect(idsOf(stdout)).toEqual(at.control.store.newestIds(20));
});

test('export says it once too', async () => {
  at.control.behaviour.links = 'inner';
  const directory = path.join(at.env['HOME'] as string, 'export');
  const { code, stderr } = await at.run(['events', 'export', directory, '--page-size', '5']);
  expect({ code, lines: stderr.match(/pages are asked for by number$/gm) }).toMatchObject({
    code: 0,
    lines: { length: 1 },
  });
});
