import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { browserCommand } from '../support/browser.ts';
import { startHandler } from '../support/handler.ts';
import { binFolder, createHome } from '../support/home.ts';
import { freePort } from '../support/ports.ts';
import { PrintedText } from '../support/running.ts';

/** The commands that a story begins with. */
const SET_UPS = /^```sh runs\n([\s\S]*?)^```$/gm;
/** These blocks do not run with the other examples, because their commands run in parallel. */
const STORIES = /^```console story\n([\s\S]*?)^```$/gm;

export interface Lived {
  /** The page, with the output that the commands had this time. */
  readonly page: string;
  /** How often the handler accepted each event, for each story. */
  readonly taken: readonly ReadonlyMap<string, number>[];
}

/** Runs the stories of webhooks.md: every command of each as written there, in a shell of its own. */
export async function liveStories(page: string, program: string): Promise<Lived> {
  const setUps = [...page.matchAll(SET_UPS)].map(([, lines = '']) => lines);
  const lived = await Promise.all(
    [...page.matchAll(STORIES)].map(([, story = ''], index) => live(setUps[index] ?? '', story, program)),
  );
  const texts = lived.map(({ text }) => text);
  return {
    page: page.replace(STORIES, () => `\`\`\`console story\n${texts.shift()}\n\`\`\``),
    taken: lived.map(({ taken }) => taken),
  };
}

async function live(setUp: string, story: string, program: string) {
  await using handler = await startHandler();
  const hasHandler = setUp.includes(`.listen(${HANDLER_PORT}`);
  await using shell = await openShell(hasHandler ? await freePort() : handler.port, program);
  for (const line of setUp.trim().split('\n')) await shell.print(line);
  let text = '';
  for (const paragraph of story.trim().split('\n\n')) {
    const commands = paragraph.split('\n').filter((line) => line.startsWith('$ '));
    for (const line of commands) text += `${line}\n${await shell.print(line.slice(2))}`;
    // The others are outputs of the last time, with empty lines in them.
    if (commands.length > 0) text += '\n';
  }
  return { text: text.trimEnd(), taken: new Map(handler.taken) };
}

/** Lines that not every run has, or whose text is another one each time. */
const VOLATILE = [
  /^\d+ of these (was|were) already delivered, .*\n/gm,
  /^not compared, different in nearly every event: .*\n/gm,
  // Deliveries while a token is renewed.
  /^warning: refused with 401: .*\n/gm,
];
/**
 * If many events arrived before the listener stopped, `explain` names that time too, and the last success is
 * outside of the cause.
 */
const CAUSE_IN_TIME: readonly (readonly [narrower: RegExp, wider: string])[] = [
  [/^ {2}and eventData\.timeStamp >= .*\n/gm, ''],
  [/ --where 'eventData\.timeStamp >= [^']*'/g, ''],
  [/ or earlier, no success in this time/g, ', last success TIME'],
  [/(?<=^127\.0\.0\.1:\d+ +\d+ % +)0 %/gm, '1 %'],
];
const TIME = /\d{4}-\d{2}-\d{2}[ T][\d:]+Z/g;
const GUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Removes what differs from run to run: ids, times, the numbers of events, except 0, and what is said of
 * deliveries that failed at first. What one command and a listener print at the same time may come in either
 * order.
 */
export function withoutCounts(page: string): string {
  return page.replace(STORIES, (block) => {
    const lasting = VOLATILE.reduce((text, line) => text.replace(line, ''), block);
    const wide = CAUSE_IN_TIME.reduce((text, [narrower, wider]) => text.replace(narrower, wider), lasting);
    const commands = wide.split(/^(?=\$ )/m).map((text) => {
      const [command = '', ...lines] = text.trimEnd().split('\n');
      return [command, ...lines.map(withoutNumbers).sort()].join('\n');
    });
    return commands.join('\n\n');
  });
}

function withoutNumbers(line: string): string {
  return line
    .replace(GUID, 'ID')
    .replace(TIME, 'TIME')
    .replace(/, first failure .*/, '')
    .replace(/\b[1-9]\d*(\.\d+)?\b/g, 'N')
    .replace(/ {2,}/g, '  ');
}

interface Shell extends AsyncDisposable {
  /** Returns what a command prints; for a background command, its first line. */
  print(command: string): Promise<string>;
}

const DONE = 'that was the command';
/** The ports on the page; a test takes others, that are free. */
const LISTENER_PORT = '8980';
const HANDLER_PORT = '3000';
/** The folder of a sandbox's configuration, which has another name each time. */
const SANDBOX_FOLDER = /\/\S*\/hooktrail-sandbox-\w{6}(?=\/)/g;

async function openShell(handlerPort: number, program: string): Promise<Shell> {
  const home = await createHome();
  const [port, redirectPort] = [await freePort(), await freePort()];
  const own = (command: string) =>
    command
      .replaceAll(LISTENER_PORT, `${port}`)
      .replaceAll(HANDLER_PORT, `${handlerPort}`)
      .replace('hooktrail login', 'hooktrail login --redirect-uri "$OWN_REDIRECT_URI"');
  const shown = (text: string) =>
    text
      .replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${LISTENER_PORT}`)
      .replaceAll(`127.0.0.1:${handlerPort}`, `127.0.0.1:${HANDLER_PORT}`)
      .replaceAll(SANDBOX_FOLDER, '/tmp/hooktrail-sandbox-eG7pQz')
      .replaceAll(home.folder, '~');
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
