import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startHandler } from '../support/handler.ts';
import { freePort } from '../support/ports.ts';
import { hasWindows } from '../support/requirement.ts';
import {
  createWindowsHome,
  exportedIds,
  keepOpen,
  onWindows,
  prepareWindows,
  runOnWindows,
  startOnWindows,
  startWindowsUser,
  type WindowsUser,
} from '../support/windows.ts';

describe.skipIf(!hasWindows)('on Windows', { timeout: 120_000 }, () => {
  beforeAll(prepareWindows, 300_000);

  describe('sign-in', () => {
    test('the demo signs in, lists and searches', async () => {
      await using home = await createWindowsHome();
      const { code, stdout, stderr } = await runOnWindows(['demo'], { env: home.env });
      expect([code, stderr]).toEqual([0, expect.stringContaining('Signed in at http://127.0.0.1:')]);
      expect(stdout.match(/ {2}FAILED {2}/g)).toHaveLength(10);
    });

    test('a sign-in with the encrypted file keeps everything in AppData, and ends with logout', async () => {
      await using user = await startWindowsUser();
      const login = await user.signIn();
      expect([login.code, login.stdout]).toEqual([0, '']);
      const folder = path.join(user.home.folder, 'AppData', 'Roaming', 'hooktrail');
      expect(login.stderr).toContain(`secrets   ${onWindows(folder)}\\secrets\\default~`);
      expect(await readdir(folder)).toEqual(expect.arrayContaining(['config.json', 'secrets']));
      expect(await user.run(['events', 'count'])).toEqual({ code: 0, stdout: '30\n', stderr: '' });
      const status = JSON.parse((await user.run(['status', '--json'])).stdout);
      expect(status).toMatchObject({ profile: 'default' });
      expect((await user.run(['logout'])).code).toBe(0);
      expect((await user.run(['events', 'count'])).code).toBe(4);
    });

    test('a sign-in with the Credential Manager is kept there', async () => {
      await using user = await startWindowsUser();
      const login = await user.signIn({ HOOKTRAIL_STORE: 'keychain' });
      expect([login.code, login.stderr]).toEqual([
        0,
        expect.stringContaining('the Windows Credential Manager'),
      ]);
      const env = { ...user.env, HOOKTRAIL_STORE: 'keychain', HOOKTRAIL_CLIENT_SECRET: '' };
      expect(await user.run(['events', 'count'], { env })).toEqual({ code: 0, stdout: '30\n', stderr: '' });
      expect((await user.run(['logout'], { env })).code).toBe(0);
      expect((await user.run(['events', 'count'], { env })).code).toBe(4);
    });

    test('20 commands at once renew an expired token once', async () => {
      await using user = await startWindowsUser({ tokenLifetimeSeconds: 600 });
      await user.signIn();
      clock.advance(600_000);
      const commands = Array.from({ length: 20 }, () => user.run(['events', 'count']));
      for (const { code, stdout, stderr } of await Promise.all(commands))
        expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '30\n', stderr: '' });
      expect(user.refreshes()).toEqual([undefined]);
    });

    test('a command that was ended in the middle of a refresh does not hold up the next one', async () => {
      await using user = await startWindowsUser({ tokenLifetimeSeconds: 600 });
      await user.signIn();
      clock.advance(600_000);
      // The request is not carried out, so that the refresh token stays good.
      user.sandbox.control.fault('token', { kind: 'raw', text: '' });
      const ended = await startOnWindows(['events', 'count'], { env: user.env });
      await expect.poll(() => user.sandbox.control.pendingFaults, { timeout: 20_000 }).toBe(0);
      await ended.kill();
      expect((await ended.finished).code).not.toBe(0);
      const began = performance.now();
      expect(await user.run(['events', 'count'])).toMatchObject({ code: 0, stdout: '30\n' });
      expect(performance.now() - began).toBeLessThan(15_000);
    });
  });

  describe('files', () => {
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

    const settings = (user: WindowsUser) =>
      path.join(user.home.folder, 'AppData', 'Roaming', 'hooktrail', 'config.json');

    test('settings that another program keeps open stay unchanged, and the error says so', async () => {
      await using user = await startWindowsUser();
      expect(await user.run(['config', 'set', 'vendor', 'first'])).toMatchObject({ code: 0 });
      const holder = await keepOpen(settings(user));
      expect(await user.run(['config', 'set', 'vendor', 'second'])).toEqual({
        code: 2,
        stdout: '',
        stderr:
          `error: the settings cannot be written to ${onWindows(settings(user))}: it cannot be replaced, perhaps because another program has it open (EPERM)\n` +
          'next: make the folder writable and free some space, or choose another with HOOKTRAIL_CONFIG_DIR\n',
      });
      expect(await readFile(settings(user), 'utf8')).toContain('first');
      await holder.kill();
      await holder.finished;
    });

    test('settings that another program closes within a second are replaced', async () => {
      await using user = await startWindowsUser();
      expect(await user.run(['config', 'set', 'vendor', 'first'])).toMatchObject({ code: 0 });
      const holder = await keepOpen(settings(user));
      const second = await startOnWindows(['config', 'set', 'vendor', 'second'], { env: user.env });
      const waiting = async () =>
        (await readdir(path.dirname(settings(user)))).some((name) => name.endsWith('.tmp'));
      await expect.poll(waiting, { timeout: 20_000, interval: 10 }).toBe(true);
      await holder.kill();
      const saved = { code: 0, stdout: '', stderr: "saved vendor in profile 'default'\n" };
      expect(await second.finished).toEqual(saved);
      expect(await readFile(settings(user), 'utf8')).toContain('second');
    });

    test('the CSV of an export that another program closes within a second is replaced', async () => {
      await using user = await startWindowsUser({ events: 3 });
      await user.signIn();
      const folder = path.join(user.home.folder, 'out');
      const words = ['events', 'export', onWindows(folder), '--csv'];
      expect(await user.run(words)).toMatchObject({ code: 0 });
      const [name = ''] = (await readdir(folder)).filter((file) => file.endsWith('.csv'));
      const holder = await keepOpen(path.join(folder, name));
      const second = await startOnWindows(words, { env: user.env });
      await expect.poll(() => readdir(folder), { timeout: 20_000, interval: 10 }).toContain(`${name}.tmp`);
      await holder.kill();
      expect(await second.finished).toMatchObject({ code: 0 });
      expect(await readdir(folder)).not.toContain(`${name}.tmp`);
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
          const sent = request(
            { port, host: '127.0.0.1', method: 'POST', headers, agent: false },
            (answer) => {
              answer.resume();
              answer.once('close', () => resolve(answer.statusCode));
            },
          );
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
});
