import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { browserCommand } from '../support/browser.ts';
import { type HandlerServer, startHandler } from '../support/handler.ts';
import { binFolder, createHome } from '../support/home.ts';
import { freePort } from '../support/ports.ts';
import { PrintedText } from '../support/running.ts';

/** The commands that the story begins with. */
const SET_UP = /^```sh runs\n([\s\S]*?)^```$/m;
/** This block does not run with the other examples, because its commands run in parallel. */
const STORY = /^```console story\n([\s\S]*?)^```$/m;

export interface Lived {
  /** The page, with the output that the commands had this time. */
  readonly page: string;
  /** How often the handler accepted each event. */
  readonly taken: ReadonlyMap<string, number>;
}

/** Runs the example of webhooks.md: every command as written there, in one shell. */
export async function liveStory(page: string, program: string): Promise<Lived> {
  const [, setUp = ''] = page.match(SET_UP) ?? [];
  const [, story = ''] = page.match(STORY) ?? [];
  await using handler = await startHandler();
  await using shell = await openShell(handler, program);
  for (const line of setUp.trim().split('\n')) await shell.print(line);
  let text = '';
  for (const paragraph of story.trim().split('\n\n')) {
    for (const line of paragraph.split('\n')) {
      if (line.startsWith('$ ')) text += `${line}\n${await shell.print(line.slice(2))}`;
    }
    text += '\n';
  }
  const fresh = `\`\`\`console story\n${text.trimEnd()}\n\`\`\``;
  return { page: page.replace(STORY, () => fresh), taken: new Map(handler.taken) };
}

/**
 * Removes what differs from run to run: the numbers of events, except 0, and the remark on events that were
 * delivered after all.
 */
export function withoutCounts(page: string): string {
  return page.replace(STORY, (block) =>
    block
      .replace(/^\d+ of these (was|were) delivered .*\n/gm, '')
      .replace(/^(?!\$ ).*$/gm, (line) => line.replace(/\b[1-9]\d*(\.\d+)?\b/g, 'N')),
  );
}

interface Shell extends AsyncDisposable {
  /** Returns what a command prints; for a background command, its first line. */
  print(command: string): Promise<string>;
}

const DONE = 'that was the command';
/** The listener's port on the page; a test takes one that is free. */
const PORT = '8980';

async function openShell(handler: HandlerServer, program: string): Promise<Shell> {
  const home = await createHome();
  const [port, redirectPort] = [await freePort(), await freePort()];
  const own = (command: string) =>
    command
      .replaceAll(PORT, `${port}`)
      .replaceAll('http://127.0.0.1:3000/hooks', `http://127.0.0.1:${handler.port}/hooks`)
      .replace('hooktrail login', 'hooktrail login --redirect-uri "$OWN_REDIRECT_URI"');
  const shown = (text: string) =>
    text.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${PORT}`).replaceAll(home.folder, '/home/ada');
  const env = {
    ...home.env,
    PATH: `${await binFolder(home.folder, program)}:${home.env['PATH']}`,
    HOOKTRAIL_BROWSER: browserCommand,
    OWN_REDIRECT_URI: `http://127.0.0.1:${redirectPort}/callback`,
  };
  const child = spawn('sh', ['-s'], { env, cwd: home.folder, detached: true });
  // Both streams are joined, as on a terminal.
  child.stdin.write('exec 2>&1\n');
  const output = new PrintedText(['screen']);
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.add(text, 'screen'));
  return {
    async print(command) {
      const before = output.of.screen.length;
      child.stdin.write(`${own(command)}\necho '${DONE}'\n`);
      // A command in the background may print its first line later.
      const isBackground = /&( *#.*)?$/.test(command);
      const whole = isBackground ? `(\\n[^]*${DONE}|${DONE}\\n[^]*)\\n` : DONE;
      await output.matches('screen', new RegExp(whole), () => before);
      return shown(output.of.screen.slice(before).replace(`${DONE}\n`, ''));
    },
    async [Symbol.asyncDispose]() {
      // Ends the shell and everything it started.
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
      await once(child, 'close');
      await home[Symbol.asyncDispose]();
    },
  };
}
