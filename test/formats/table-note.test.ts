import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { callsIn } from '../support/command-lines.ts';
import { ndjsonOf, startSearching, valuesIn } from '../support/searching.ts';

/** A service whose address is that of the saved profile `night`, which commands use. */
async function startWithProfile() {
  const at = await startSearching({ events: 2000, tokenLifetimeSeconds: 864_000 });
  const { HOOKTRAIL_BASE_URL: baseUrl = '', HOOKTRAIL_VENDOR: vendor = '', ...env } = at.env;
  const folder = env['HOOKTRAIL_CONFIG_DIR'] as string;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const config = { version: 1, profile: 'night', profiles: { night: { 'base-url': baseUrl, vendor } } };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  /** Runs a command in Markdown. Returns the table, and the facts and the words of the command below it. */
  const markdown = async (words: readonly string[]) => {
    const { code, stdout, stderr } = await at.run(words, { env });
    expect({ code, stderr: stderr.replace(/^events of several marketplaces .*\n/, '') }).toEqual({
      code: 0,
      stderr: '',
    });
    const [, facts = '', line = ''] = /\n\*(.*): `(hooktrail .*)`\*\n$/.exec(stdout) ?? [];
    return { table: stdout.slice(0, stdout.indexOf('\n*')), facts: facts.split('; '), line };
  };
  return { ...at, env, host: new URL(baseUrl).host, markdown };
}

const wordsOf = (line: string) => callsIn(line)[0] as string[];

describe('the line below a table in Markdown', () => {
  test.each([
    ['search', '--failed', '--since', '06:00', '-n', '5'],
    ['search', '--since=2h', '--fields', 'eventId'],
    ['search', '-n', '3'],
    ['stats'],
    ['stats', '--by', 'eventType', '--after', '3d', '--before', 'yesterday'],
    ['explain', '--since', '2d'],
    ['health', '--since', '1d', '--type', 'document.*'],
  ])(
    'names profile and service, and a command that gives the same a day later: events %s %s %s',
    async (...words) => {
      await using at = await startWithProfile();
      const args = ['events', ...words, '-o', 'markdown'];
      const first = await at.markdown(args);
      expect(first.facts[1]).toBe(`profile night at ${at.host}`);
      expect(first.line).toMatch(/ --profile night$/);
      expect(first.line).not.toMatch(/06:00 |2h|[13]d\b|yesterday/);
      for (let index = 0; index < 20; index++) {
        clock.advance(3_600_000);
        at.control.addEvent({ publishStatus: 'FAILED' });
      }
      const again = await at.markdown(wordsOf(first.line));
      // A time that has passed is told as such.
      const asThen = first.table
        .replace('| state |', '| state then |')
        .replace('| failing since', '| failing from')
        .replaceAll(/; failing since ([^,|]*)/g, '; was failing at the end, from $1 on');
      expect(again.table).toBe(asThen);
      expect(again.line).toBe(first.line);
    },
  );

  test('keeps the times that were typed in full, and a profile that was named', async () => {
    await using at = await startWithProfile();
    const line =
      'hooktrail events search --profile night --since 2026-11-19 --until 2026-11-20T08:00:00Z -o markdown';
    expect((await at.markdown(wordsOf(line))).line).toBe(line);
  });

  test('of events by their ids, of types and of a watch names profile and service too', async () => {
    await using at = await startWithProfile();
    const [id] = at.sandbox.control.store.newestIds(1) as [string];
    for (const words of [['events', 'get', id], ['event-types']]) {
      const { facts, line } = await at.markdown([...words, '-o', 'markdown']);
      expect(facts[1]).toBe(`profile night at ${at.host}`);
      expect(line).toBe(`hooktrail ${words.join(' ')} -o markdown --profile night`);
    }
    const args = ['events', 'watch', '--since', '1h', '--until', 'now', '-o', 'markdown', '--quiet'];
    const { line } = await at.markdown(args);
    expect(line).toMatch(/^hooktrail events watch --since 2026-11-20T11:00:00Z --until /);
  });

  test('names the service alone where no profile is saved', async () => {
    await using at = await startSearching({ events: 20 });
    const { stdout } = await at.run(['events', 'search', '-n', '1', '-o', 'markdown']);
    expect(stdout).toContain(`\n*1 of 20 events; ${new URL(at.env['HOOKTRAIL_BASE_URL'] as string).host}; `);
    expect(stdout).not.toContain('--profile');
  });

  test('names the place of stored events, which no profile changes', async () => {
    await using at = await startWithProfile();
    const events = valuesIn((await at.run(['events', 'search', '--ndjson'], { env: at.env })).stdout);
    await writeFile(path.join(at.env['HOME'] as string, 'old_events.ndjson'), ndjsonOf(events));
    for (const command of ['search', 'stats', 'explain']) {
      const line = `hooktrail events ${command} --from old_events.ndjson -o markdown`;
      const printed = await at.markdown(wordsOf(line));
      expect(printed.facts[1]).toBe('from old\\_events.ndjson');
      expect(printed.line).toBe(line);
    }
  });

  test('pipes again what came by standard input', async () => {
    await using at = await startSearching({ events: 20 });
    const { stdout: stdin } = await at.run(['events', 'search', '--ndjson']);
    for (const from of [['--from', '-'], ['--from=-']]) {
      const { stdout } = await at.run(['events', 'stats', ...from, '-o', 'markdown'], { stdin });
      expect(stdout).toContain('; from standard input; ');
      expect(stdout).toContain(`: \`… | hooktrail events stats ${from.join(' ')} -o markdown\`*`);
    }
  });
});
