import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { browserCommand } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { binFolder, createHome } from '../support/home.ts';
import { screenOf } from '../support/machine/terminal.ts';
import { freePort } from '../support/ports.ts';
import { sandboxEnv, startSandbox } from '../support/sandbox.ts';
import { startHandlerWithDatabase } from './handler-database.ts';

/** The end of the seeded history, so that the output does not depend on the day. */
const NOW = Date.parse('2026-11-21T10:00:00Z');

/** The texts that the pages show in place of values that differ from run to run. */
const SHOWN_ORIGIN = 'http://127.0.0.1:8977';
const SHOWN_FOLDER = '~/.config/hooktrail';
const SHOWN_HANDLER_PORT = '3000';

/**
 * A shell in which `hooktrail` is the built program, signed in to a sandbox. All texts are as the pages show
 * them.
 */
export interface Stage extends AsyncDisposable {
  /** Returns what a command prints: both streams, in the order of a terminal. */
  print(command: string): Promise<string>;
  /** Returns what a command sends to a terminal, with escape sequences. */
  draw(command: string, columns: number): Promise<string>;
  /** Reads a file that a command wrote. */
  read(file: string): Promise<string>;
}

export interface StageParts {
  /** A handler on port 3000 with a database, `handled.db`. */
  readonly hasHandler?: boolean;
}

export async function openStage(program: string, { hasHandler }: StageParts = {}): Promise<Stage> {
  const redirectUri = `http://127.0.0.1:${await freePort()}/callback`;
  clock.set(NOW);
  const sandbox = await startSandbox({
    now: () => clock.now(),
    events: 5000,
    seed: 1,
    autoApprove: true,
    redirectUri,
  });
  const home = await createHome();
  const env = {
    ...home.env,
    ...sandboxEnv(sandbox.settings),
    PATH: `${await binFolder(home.folder, program)}:${home.env['PATH']}`,
    HOOKTRAIL_BROWSER: browserCommand,
  };
  const shown = (text: string) =>
    text
      .replaceAll(new URL(sandbox.settings.baseUrl).host, new URL(SHOWN_ORIGIN).host)
      .replaceAll(encodeURIComponent(redirectUri), encodeURIComponent('http://127.0.0.1:8976/callback'))
      .replaceAll(home.env['HOOKTRAIL_CONFIG_DIR'] as string, SHOWN_FOLDER);
  const print = async (command: string) => shown(await shell(command, env, home.folder));
  await print('hooktrail login');
  const handler = hasHandler ? await startHandlerWithDatabase(print, home.folder) : undefined;
  const ownPort = (command: string) =>
    handler ? command.replaceAll(SHOWN_HANDLER_PORT, `${handler.port}`) : command;
  return {
    print: (command) => print(ownPort(command)),
    draw: async (command, columns) => shown(await screenOf(command, { env, columns })),
    read: async (file) => shown(await readFile(path.join(home.folder, file), 'utf8')),
    async [Symbol.asyncDispose]() {
      await handler?.[Symbol.asyncDispose]();
      await sandbox.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

function shell(command: string, env: Record<string, string>, cwd: string): Promise<string> {
  return new Promise((resolve) => {
    // Both streams are joined, as on a terminal. A failing command is shown with its output, like any other.
    execFile('sh', ['-c', `{ ${command}\n} 2>&1`], { env, cwd }, (_error, stdout) => resolve(stdout));
  });
}
