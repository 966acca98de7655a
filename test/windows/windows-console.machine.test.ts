import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startHandler } from '../support/handler.ts';
import { API_TOKEN, duplicate, post } from '../support/listening.ts';
import { freePort } from '../support/ports.ts';
import { hasWindows, windowsNode } from '../support/requirement.ts';
import {
  createWindowsHome,
  exportedIds,
  onWindows,
  prepareWindows,
  startOnWindows,
  startWindowsUser,
  type WindowsUser,
} from '../support/windows.ts';

// The ways in which a person at the console ends a command: Ctrl-C, Ctrl-Break, or closing the window.
describe.skipIf(!hasWindows)('a Windows console', { timeout: 120_000 }, () => {
  beforeAll(prepareWindows, 300_000);

  const endings = [
    ['Ctrl-C', 130],
    ['Ctrl-Break', 130],
    ['close', 143],
  ] as const;

  test.each(endings.slice(0, 2))('%s ends a sign-in that waits', async (event, code) => {
    await using user = await startWindowsUser();
    const login = await startOnWindows(['login', '--no-browser'], { env: user.env });
    const [url] = await login.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
    await login.send(event);
    expect(await login.finished).toEqual({
      code,
      stdout: '',
      stderr: `Sign in in a browser at\n${url}\n`,
    });
    expect((await user.run(['events', 'count'])).code).toBe(4);
  });

  async function startListener(user: WindowsUser, handler: string) {
    const port = await freePort();
    const to = ['--forward-to', handler, '--journal', 'events.journal'];
    const program = await startOnWindows(['webhooks', 'listen', '--port', String(port), ...to], {
      env: { ...user.env, HOOKTRAIL_API_TOKEN: API_TOKEN },
    });
    await program.printed('stderr', /listening on/);
    return { program, send: (body: string) => post(port, body) };
  }

  test.each(endings)('%s ends a listener once its handler has answered', async (event, code) => {
    await using user = await startWindowsUser({ events: 0 });
    await using handler = await startHandler();
    let answer = (_status: number) => {};
    handler.answer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const listener = await startListener(user, handler.url);
    const sent = listener.send('{"eventId":"a"}');
    await expect.poll(() => handler.received.length).toBe(1);
    await listener.program.send(event);
    await listener.program.printed('stderr', /waiting up to 10 s for 1 delivery in progress\n/);
    answer(200);
    expect((await sent).status).toBe(200);
    const ended = await listener.program.finished;
    expect([ended.code, ended.stdout]).toEqual([code, '{"eventId":"a"}\n']);

    const second = await startListener(user, handler.url);
    expect(await second.send('{"eventId":"a"}')).toMatchObject(duplicate);
    expect(handler.received).toHaveLength(1);
    await second.program.kill();
    await second.program.finished;
  });

  test('a second Ctrl-C ends the waiting program at once', async () => {
    await using user = await startWindowsUser({ events: 0 });
    await using handler = await startHandler();
    handler.answer = () => new Promise(() => undefined);
    const listener = await startListener(user, handler.url);
    const sent = listener.send('{"eventId":"a"}').then(
      ({ status }) => status,
      () => 'no answer',
    );
    await expect.poll(() => handler.received.length).toBe(1);
    await listener.program.send('Ctrl-C');
    await listener.program.printed('stderr', /waiting up to 10 s for 1 delivery in progress\n/);
    // Those within 250 ms of the first count as the same one.
    const again = setInterval(() => void listener.program.send('Ctrl-C'), 100);
    const ended = await listener.program.finished.finally(() => clearInterval(again));
    expect(ended.code).toBe(130);
    expect(await sent).toBe('no answer');
  });

  test('Ctrl-C ends an export, which continues', async () => {
    await using user = await startWindowsUser({ events: 300 });
    await user.signIn();
    user.sandbox.control.behaviour.latencyMs = 100;
    const folder = path.join(user.home.folder, 'out');
    const words = ['events', 'export', onWindows(folder), '--page-size', '10'];
    const first = await startOnWindows(words, { env: user.env });
    const pages = () => user.sandbox.log.filter(({ url }) => url.includes('integrator-events')).length;
    await expect.poll(pages, { timeout: 30_000 }).toBeGreaterThan(10);
    await first.send('Ctrl-C');
    const ended = await first.finished;
    expect([ended.code, ended.stderr]).toEqual([130, 'to resume: run the same command again\n']);
    user.sandbox.control.behaviour.latencyMs = 0;
    expect(await user.run(words)).toMatchObject({ code: 0 });
    expect((await exportedIds(folder)).toSorted()).toEqual(
      user.sandbox.control.store.newestIds(300).toSorted(),
    );
  });

  test.each(endings)('%s reaches the program of a sandbox, whose exit code counts', async (event) => {
    await using home = await createWindowsHome();
    const script = `
      for (const name of ['SIGINT', 'SIGBREAK', 'SIGHUP']) process.on(name, () => setTimeout(() => process.exit(41), 300));
      setInterval(() => {}, 1000);
      console.log('ready');`;
    const words = ['sandbox', '--events', '0', '--', onWindows(windowsNode), '-e', script];
    const program = await startOnWindows(words, { env: home.env });
    await program.printed('stdout', /ready/);
    await program.send(event);
    expect(await program.finished).toMatchObject({ code: 41, stdout: 'ready\n' });
  });
});
