import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startHandler } from '../support/handler.ts';
import { freePort } from '../support/ports.ts';
import { hasWindows } from '../support/requirement.ts';
import { onWindows, prepareWindows, startOnWindows, startWindowsUser } from '../support/windows.ts';

describe.skipIf(!hasWindows)('files on Windows', { timeout: 120_000 }, () => {
  beforeAll(prepareWindows, 120_000);

  /** The ids of an export's events, as often as they stand there. */
  async function exportedIds(folder: string): Promise<string[]> {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.ndjson')).sort();
    const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')));
    return texts.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line).eventId);
  }

  test('an export that was ended continues, in a folder with spaces and accents', async () => {
    await using user = await startWindowsUser({ events: 3000 });
    await user.signIn();
    user.sandbox.control.behaviour.latencyMs = 100;
    const folder = path.join(user.home.folder, 'Müllers Export – Nr. 1');
    const words = ['events', 'export', onWindows(folder), '--page-size', '50'];
    const first = await startOnWindows(words, { env: user.env });
    const pages = () => user.sandbox.log.filter(({ url }) => url.includes('integrator-events')).length;
    await expect.poll(pages, { timeout: 30_000 }).toBeGreaterThan(15);
    await first.kill();
    await first.finished;
    user.sandbox.control.behaviour.latencyMs = 0;
    const second = await user.run(words);
    expect([second.code, second.stderr]).toEqual([0, expect.stringContaining('3000 events')]);
    expect((await exportedIds(folder)).toSorted()).toEqual(
      user.sandbox.control.store.newestIds(3000).toSorted(),
    );
  });

  test('paths longer than 260 characters are written and read', async () => {
    await using user = await startWindowsUser({ events: 5 });
    await user.signIn();
    const deep = path.join(user.home.folder, ...Array.from({ length: 6 }, (_, at) => `${at}`.repeat(50)));
    await mkdir(deep, { recursive: true });
    const report = path.join(deep, 'report.html');
    expect(report.length).toBeGreaterThan(260);
    expect(await user.run(['events', 'report', onWindows(report)])).toMatchObject({ code: 0 });
    expect(await readFile(report, 'utf8')).toMatch(/^<!doctype html>/i);
    const folder = path.join(deep, 'export');
    expect(await user.run(['events', 'export', onWindows(folder)])).toMatchObject({ code: 0 });
    expect(await exportedIds(folder)).toHaveLength(5);
  });

  test.each([
    ['a drive and slashes', (folder: string) => `Z:${folder}/out`],
    ['a path below the root of the drive', (folder: string) => `${folder.replaceAll('/', '\\')}\\out`],
    ['a path relative to the folder of the drive', () => 'Z:out'],
    ['a relative path', () => '.\\a\\..\\out'],
    ['a device path', (folder: string) => `\\\\?\\Z:${folder.replaceAll('/', '\\')}\\out`],
  ])('takes %s', async (_name, spelled) => {
    await using user = await startWindowsUser({ events: 3 });
    await user.signIn();
    const { folder } = user.home;
    expect(await user.run(['events', 'export', spelled(folder)])).toMatchObject({ code: 0 });
    expect(await exportedIds(path.join(folder, 'out'))).toHaveLength(3);
  });

  test('ids with the line ends of Windows are read from standard input', async () => {
    await using user = await startWindowsUser({ events: 5 });
    await user.signIn();
    const ids = user.sandbox.control.store.newestIds(3);
    const { code, stdout, stderr } = await user.run(
      ['events', 'get', '-', '--fields', 'eventId', '--ndjson'],
      {
        stdin: `${ids.join('\r\n')}\r\n`,
      },
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).eventId),
    ).toEqual(ids);
  });

  test('settings that another program has open stay as they are, and that is said', async () => {
    await using user = await startWindowsUser();
    expect(await user.run(['config', 'set', 'vendor', 'first'])).toMatchObject({ code: 0 });
    const config = path.join(user.home.folder, 'AppData', 'Roaming', 'hooktrail', 'config.json');
    /** Holds the file open as programs do that do not share it, for so many seconds. */
    const hold = async (seconds: number) => {
      const wait = `ping -n ${seconds + 1} 127.0.0.1 > NUL < "${onWindows(config)}"`;
      const script = `@echo off\r\n> opened-${seconds} echo opened\r\n${wait}\r\n`;
      await writeFile(path.join(user.home.folder, 'hold.cmd'), script);
      const holder = await startOnWindows(['/c', 'hold.cmd'], { env: user.env, executable: 'cmd.exe' });
      await expect.poll(() => readdir(user.home.folder), { timeout: 20_000 }).toContain(`opened-${seconds}`);
      return holder;
    };
    const long = await hold(15);
    const refused = await user.run(['config', 'set', 'vendor', 'second']);
    expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([
      2,
      `error: the settings cannot be written to ${onWindows(config)}: it cannot be replaced, perhaps because another program has it open (EPERM)`,
    ]);
    expect(await readFile(config, 'utf8')).toContain('first');
    await long.kill();
    await long.finished;
  });

  test('a listener that was ended has acknowledged nothing that its journal lacks', async () => {
    await using user = await startWindowsUser({ events: 0 });
    await user.signIn();
    await using handler = await startHandler();
    const port = await freePort();
    const env = { ...user.env, HOOKTRAIL_API_TOKEN: 's3cret' };
    const words = [
      'webhooks',
      'listen',
      '--port',
      String(port),
      '--forward-to',
      handler.url,
      '--journal',
      'events.journal',
    ];
    const post = (body: string) =>
      new Promise<number | undefined>((resolve) => {
        const headers = { 'Content-Type': 'application/json', 'Api-Token': 's3cret' };
        const sent = request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false }, (answer) => {
          answer.resume();
          answer.once('close', () => resolve(answer.statusCode));
        });
        sent.once('error', () => resolve(undefined));
        sent.end(body);
      });
    const listen = async () => {
      const listener = await startOnWindows(words, { env });
      await listener.printed('stderr', /listening on/);
      return listener;
    };
    const events = Array.from({ length: 300 }, () =>
      user.sandbox.control.addEvent({ publishStatus: 'FAILED' }),
    );
    const first = await listen();
    const acknowledged: string[] = [];
    const sending = (async () => {
      for (const { eventId, json } of events) if ((await post(json)) === 200) acknowledged.push(eventId);
    })();
    await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(20);
    await first.kill();
    await Promise.all([first.finished, sending]);
    expect(acknowledged.length).toBeLessThan(300);

    const second = await listen();
    for (const { eventId, json } of events)
      if (acknowledged.includes(eventId)) expect(await post(json)).toBe(200);
    await second.kill();
    await second.finished;
    for (const eventId of acknowledged) expect([eventId, handler.taken.get(eventId)]).toEqual([eventId, 1]);

    const recover = [
      'webhooks',
      'recover',
      '--after',
      '1h',
      '--forward-to',
      handler.url,
      '--journal',
      'events.journal',
    ];
    expect(await user.run(recover, { env })).toMatchObject({ code: 0 });
    expect(handler.taken.size).toBe(300);
    for (const eventId of acknowledged) expect(handler.taken.get(eventId)).toBe(1);
  });
});
