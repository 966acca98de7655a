import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { binFolder } from '../support/bin-folder.ts';
import { browserCommand } from '../support/browser.ts';
import { type HandlerServer, startHandler } from '../support/handler.ts';
import { createHome } from '../support/home.ts';
import { freePort } from '../support/ports.ts';

const SECTION = /^## Webhooks\n[\s\S]*?(?=^## )/m;
const SET_UP = /^```sh\n([\s\S]*?)^```$/m;
/** This block does not run with the other examples, because its commands run in parallel. */
const STORY = /^```console story\n([\s\S]*?)^```$/m;

export interface Lived {
  /** The README, with the output that the commands had this time. */
  readonly readme: string;
  /** How often the handler accepted each event. */
  readonly taken: ReadonlyMap<string, number>;
}

/** Runs the webhooks example of the README: every command as written there, in one shell. */
export async function liveStory(readme: string, program: string): Promise<Lived> {
  const [section = ''] = readme.match(SECTION) ?? [];
  const [, setUp = ''] = section.match(SET_UP) ?? [];
  const [, story = ''] = section.match(STORY) ?? [];
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
  return { readme: readme.replace(STORY, () => fresh), taken: new Map(handler.taken) };
}

/** Removes the numbers of events, which differ from run to run, except 0. */
export function withoutCounts(readme: string): string {
  return readme.replace(STORY, (block) =>
    block.replace(/^(?!\$ ).*$/gm, (line) => line.replace(/\b[1-9]\d*(\.\d+)?\b/g, 'N')),
  );
}

interface Shell extends AsyncDisposable {
  /** Returns what a command prints; for a background command, its first line. */
  print(command: string): Promise<string>;
}

const DONE = 'that was the command';

async function openShell(handler: HandlerServer, program: string): Promise<Shell> {
  const home = await createHome();
  const [port, redirectPort] = [await freePort(), await freePort()];
  const own = (command: string) =>
    command
      .replaceAll('127.0.0.1:8977', `127.0.0.1:${port}`)
      .replaceAll('http://127.0.0.1:3000/hooks', `http://127.0.0.1:${handler.port}/hooks`)
      .replace(/webhooks listen/, `webhooks listen --port ${port}`)
      .replace('hooktrail login', 'hooktrail login --redirect-uri "$OWN_REDIRECT_URI"');
  const shown = (text: string) =>
    text.replaceAll(`127.0.0.1:${port}`, '127.0.0.1:8977').replaceAll(home.folder, '/home/ada');
  const env = {
    ...home.env,
    PATH: `${await binFolder(home.folder, program)}:${home.env['PATH']}`,
    HOOKTRAIL_BROWSER: browserCommand,
    OWN_REDIRECT_URI: `http://127.0.0.1:${redirectPort}/callback`,
  };
  const child = spawn('sh', ['-s'], { env, cwd: home.folder, detached: true });
  // Both streams are joined, as on a terminal.
  child.stdin.write('exec 2>&1\n');
  const output = new Printed(child);
  return {
    async print(command) {
      const before = output.text.length;
      child.stdin.write(`${own(command)}\necho '${DONE}'\n`);
      const isBackground = /&( *#.*)?$/.test(command);
      await output.until(() => {
        const text = output.text.slice(before);
        return text.includes(DONE) && (!isBackground || text.replace(`${DONE}\n`, '').endsWith('\n'));
      });
      return shown(output.text.slice(before).replace(`${DONE}\n`, ''));
    },
    async [Symbol.asyncDispose]() {
      // Ends the shell and everything it started.
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
      await once(child, 'close');
      await home[Symbol.asyncDispose]();
    },
  };
}

/** Returns what a process has printed so far. */
class Printed {
  text = '';
  readonly #waiting = new Set<() => void>();

  constructor(child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.text += text;
      for (const look of this.#waiting) look();
    });
  }

  async until(isThere: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const look = () => {
        if (!isThere()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}
