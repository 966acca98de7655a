import { describe, expect, test } from 'vitest';
import { API_TOKEN, portOf, post } from '../support/listening.ts';
import { type CommandOptions, hooktrail, startHooktrail } from '../support/program.ts';
import { startSearching } from '../support/searching.ts';
import { sampleOf } from '../support/seed.ts';

type Tty = NonNullable<CommandOptions['tty']>;

/** All ways in which each standard stream is a terminal or not. */
const ways = [0, 1, 2, 3, 4, 5, 6, 7].map(
  (bits): Tty => ({ stdin: (bits & 1) !== 0, stdout: (bits & 2) !== 0, stderr: (bits & 4) !== 0 }),
);
/** A table is that of a pipe where standard output is one. */
const triedWays = [
  ...sampleOf(
    'piped',
    2,
    ways.filter(({ stdout }) => !stdout),
  ),
  ...sampleOf(
    'shown',
    1,
    ways.filter(({ stdout }) => stdout),
  ),
];
const none: Tty = { stdin: false, stdout: false, stderr: false };
const NDJSON_OF_TERMINALS = { NO_COLOR: '1', PAGER: 'cat' };

/** A table is made for the terminal's width; data is the same wherever it goes. */
const commands: readonly (readonly [name: string, table: readonly string[], data: readonly string[]])[] = [
  ['search', ['events', 'search'], ['events', 'search', '--ndjson']],
  ['get', ['events', 'get', 'ID'], ['events', 'get', 'ID', '--ndjson']],
  ['stats', ['events', 'stats'], ['events', 'stats', '--csv']],
  ['export', ['events', 'export', 'DIR'], ['events', 'export', 'DIR']],
];

describe('data on standard output is that of a pipe to a pipe, whichever streams are terminals', () => {
  test.each(commands)('%s', async (_, table, data) => {
    await using at = await startSearching({ events: 40 });
    const [id = ''] = at.sandbox.control.store.newestIds(1);
    let runs = 0;
    const printed = async (args: readonly string[], tty: Tty) => {
      const directory = `${at.env['HOME']}/export-${runs++}`;
      const words = args.map((word) => (word === 'ID' ? id : word === 'DIR' ? directory : word));
      const env = { ...at.env, ...NDJSON_OF_TERMINALS };
      const { code, stdout } = await hooktrail(words, { env, terminal: 100, tty });
      return [code, stdout.replaceAll(directory, 'DIR')];
    };
    const [piped, pipedData] = [await printed(table, none), await printed(data, none)];
    for (const tty of triedWays) {
      expect(await printed(data, tty), JSON.stringify(tty)).toEqual(pipedData);
      if (!tty.stdout) expect(await printed(table, tty), JSON.stringify(tty)).toEqual(piped);
    }
  });

  test('listen', async () => {
    await using at = await startSearching({ events: 0 });
    for (const [way, tty] of ways.entries()) {
      // On a terminal each delivery is a line for people.
      if (tty.stdout) continue;
      // A default journal knows what was accepted before.
      const body = `{"eventId":"0f8fad5b-d9cb-469f-a165-70867728950${way}","n":9007199254740993}`;
      const env = { ...at.env, ...NDJSON_OF_TERMINALS, HOOKTRAIL_API_TOKEN: API_TOKEN };
      const program = startHooktrail(['webhooks', 'listen', '--port', '0'], { env, terminal: 100, tty });
      await post(await portOf(program), body);
      program.kill('SIGINT');
      const { stdout } = await program.finished;
      expect(stdout, JSON.stringify(tty)).toBe(`${body}\n`);
    }
  });
});

test('on a terminal the echo of Ctrl-C is erased before the next line', async () => {
  await using at = await startSearching({ events: 3 });
  const running = startHooktrail(['events', 'watch'], { env: { ...at.env, NO_COLOR: '1' }, terminal: 100 });
  await running.printed('stderr', /watching/);
  running.kill('SIGINT');
  expect((await running.finished).stderr).toMatch(/\n\r\u001b\[Kto resume: /);
  const dumb = startHooktrail(['events', 'watch'], { env: { ...at.env, TERM: 'dumb' }, terminal: 100 });
  await dumb.printed('stderr', /watching/);
  dumb.kill('SIGINT');
  expect((await dumb.finished).stderr).toMatch(/\n\nto resume: /);
});
