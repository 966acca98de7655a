import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { createHome } from '../support/home.ts';
import { freePort } from '../support/ports.ts';

/** The end of the seeded history: what the examples show does not depend on the day they are run. */
const NOW = Date.parse('2026-11-21T10:00:00Z');

/** What the README shows in place of what differs from run to run. */
const SHOWN_ORIGIN = 'http://127.0.0.1:8977';
const SHOWN_FOLDER = '/home/ada/.config/hooktrail';

/**
 * The README's text with every `console` block run again: each line `$ …` in a shell in which `hooktrail` is the
 * built program, signed in to a sandbox, and below it what it prints, both streams in the order of a terminal.
 */
export async function withFreshOutput(readme: string, program: string): Promise<string> {
  const redirectUri = `http://127.0.0.1:${await freePort()}/callback`;
  await using sandbox = await startSandbox({
    now: NOW,
    events: 5000,
    seed: 1,
    autoApprove: true,
    redirectUri,
  });
  await using home = await createHome();
  const folder = path.join(home.folder, 'bin');
  await mkdir(folder);
  await writeFile(
    path.join(folder, 'hooktrail'),
    `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`,
    { mode: 0o755 },
  );
  const { authUrl, baseUrl, clientId, clientSecret, vendor } = sandbox.settings;
  const env = {
    ...home.env,
    PATH: `${folder}:${process.env['PATH']}`,
    HOOKTRAIL_BROWSER: path.resolve(import.meta.dirname, '../support/browser-command.mjs'),
    HOOKTRAIL_AUTH_URL: authUrl,
    HOOKTRAIL_BASE_URL: baseUrl,
    HOOKTRAIL_CLIENT_ID: clientId,
    HOOKTRAIL_CLIENT_SECRET: clientSecret,
    HOOKTRAIL_VENDOR: vendor,
    HOOKTRAIL_REDIRECT_URI: redirectUri,
  };
  const origin = new URL(baseUrl).origin;
  const shown = (text: string) =>
    text
      .replaceAll(origin, SHOWN_ORIGIN)
      .replaceAll(encodeURIComponent(redirectUri), encodeURIComponent('http://127.0.0.1:8976/callback'))
      .replaceAll(home.env['HOOKTRAIL_CONFIG_DIR'] as string, SHOWN_FOLDER)
      // CSV ends its lines with CR LF, which a page of Markdown cannot show.
      .replaceAll('\r\n', '\n');

  await shell('hooktrail login', env, home.folder);
  const blocks = readme.split(/(^```console\n[\s\S]*?^```$)/m);
  for (const [index, block] of blocks.entries()) {
    if (!block.startsWith('```console\n')) continue;
    const commands = block.split('\n').filter((line) => line.startsWith('$ '));
    const outputs = [];
    for (const command of commands)
      outputs.push(`${command}\n${shown(await shell(command.slice(2), env, home.folder))}`);
    blocks[index] = `\`\`\`console\n${outputs.join('\n')}\`\`\``;
  }
  return blocks.join('');
}

/** The same text without what differs from run to run: random values, and times that count from now. */
export function withoutVolatile(text: string): string {
  return text
    .replace(/\b(state|code_challenge)=[\w-]+/g, '$1=…')
    .replace(/^(token +)(until|for) .*$/gm, '$1…')
    .replace(/~[0-9a-f]{16}\.vault/g, '~….vault');
}

function shell(command: string, env: Record<string, string>, cwd: string): Promise<string> {
  return new Promise((resolve) => {
    // One stream for both, as a terminal has; a failing command is shown with what it prints, like any other.
    execFile('sh', ['-c', `{ ${command}\n} 2>&1`], { env, cwd }, (_error, stdout) => resolve(stdout));
  });
}
