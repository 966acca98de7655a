import path from 'node:path';
import { expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { freePort } from '../../support/ports.ts';
import { type Running, spawnHooktrail, startProcess } from '../../support/process.ts';
import type { SandboxSettings } from '../../support/sandbox.ts';
import { accessTokenOf } from '../../support/sandbox-client.ts';
import { idsOf } from '../../support/searching.ts';

/** The example in the README, with the commands shown there. */
test('listen, stop, miss events, find them FAILED, recover: each event reaches the handler once', {
  timeout: 120_000,
}, async () => {
  await using handler = await startHandler();
  await using home = await createHome();
  const port = String(await freePort());
  const journal = path.join(home.folder, 'events.journal');
  let env: Record<string, string> = { ...home.env, HOOKTRAIL_API_TOKEN: 's3cret' };
  const running: Running[] = [];
  const begin = (...args: string[]) => {
    const program = startProcess(args, { env });
    running.push(program);
    return program;
  };
  const listen = async () => {
    const program = begin(
      ...['webhooks', 'listen', '--port', port, '--journal', journal, '--forward-to', handler.url],
    );
    await program.printed('stderr', /listening on/);
    return program;
  };
  try {
    let listener = await listen();
    const sandbox = begin(
      ...['sandbox', '--events', '0', '--auto-approve', '--json', '--duplicates', '0.3', '--rate', '20'],
      ...['--deliver-to', `http://127.0.0.1:${port}/`, '--api-token', 's3cret'],
    );
    const [line] = await sandbox.printed('stdout', /^\{.*\n/);
    const settings = JSON.parse(line) as SandboxSettings;
    env = {
      ...env,
      HOOKTRAIL_BASE_URL: settings.baseUrl,
      HOOKTRAIL_VENDOR: settings.vendor,
      HOOKTRAIL_ACCESS_TOKEN: await accessTokenOf({ settings }),
    };
    const failed = async () =>
      idsOf((await spawnHooktrail(['events', 'search', '--failed', '--ndjson'], { env })).stdout);

    await expect.poll(() => handler.taken.size, { timeout: 20_000 }).toBeGreaterThan(20);
    expect(await failed()).toEqual([]);

    listener.kill('SIGINT');
    expect((await listener.finished).code).toBe(130);
    await expect.poll(async () => (await failed()).length, { timeout: 30_000 }).toBeGreaterThan(20);
    const missed = await failed();
    expect(missed.filter((id) => handler.taken.has(id))).toEqual([]);
    const stats = JSON.parse(
      (await spawnHooktrail(['events', 'stats', '--after', '1h', '--json'], { env })).stdout,
    );
    expect(stats.failed).toBeGreaterThanOrEqual(missed.length);

    listener = await listen();
    const recovery = [
      'webhooks',
      'recover',
      '--after',
      '1h',
      '--journal',
      journal,
      '--forward-to',
      handler.url,
    ];
    const shown = idsOf((await spawnHooktrail([...recovery, '--dry-run', '--ndjson'], { env })).stdout);
    // Meanwhile the service retries some of them.
    expect(missed.filter((id) => !shown.includes(id) && !handler.taken.has(id))).toEqual([]);
    const { code, stderr } = await spawnHooktrail(recovery, { env });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^\d+ forwarded; \d+ in the journal already; 0 left\n/),
    ]);
    for (const id of missed) expect(handler.taken.get(id)).toBe(1);

    // Along with new events the service sends late retries, for which the journal already knows the recovered events.
    const taken = handler.taken.size;
    await expect.poll(() => handler.taken.size, { timeout: 20_000 }).toBeGreaterThan(taken + 20);
    sandbox.kill('SIGTERM');
    await sandbox.finished;
    listener.kill('SIGTERM');
    expect((await listener.finished).code).toBe(143);
    expect([...handler.taken.values()].filter((times) => times !== 1)).toEqual([]);
  } finally {
    for (const program of running) program.kill('SIGKILL');
    await Promise.all(running.map(({ finished }) => finished));
  }
});
