import { once } from 'node:events';
import { closeSync, readSync, realpathSync, type Stats } from 'node:fs';
import { type Context, SECRET_VARIABLES, type SecretVariable, trimValue } from '../context.ts';
import { faultText, UsageError } from '../errors.ts';
import { replaceableBy } from '../files/folders.ts';
import { encodingOf, openWithoutWaiting } from '../files/whole-files.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

type SecretContext = Pick<Context, 'environment' | 'machine' | 'clock' | 'stderr' | 'signal' | 'memory'>;

/** Milliseconds that a command, or the writer of a pipe, may take to give a secret. */
const SOURCE_LIMIT_MS = 60_000;
/** Milliseconds for a writer to open a named pipe. */
const WRITER_LIMIT_MS = 2_000;
/**
 * Milliseconds to wait for remaining output after a command's end. A program started by the command, such as
 * an agent, may keep the pipe open as long as it runs.
 */
const LATE_OUTPUT_MS = 500;
const PIPE_POLL_MS = 20;
const SOURCE_LIMIT_BYTES = 65_536;

/** These secrets are not words: they come only from a file or a command. */
const WHOLE: SecretVariable = 'HOOKTRAIL_CLIENT_KEY';
const FRESH: SecretVariable = 'HOOKTRAIL_CLIENT_ASSERTION';
const WITHOUT_VARIABLE: readonly SecretVariable[] = [WHOLE, FRESH];

/** True if the environment names a source of the secret. Reads and runs nothing. */
export function isSecretGiven(name: SecretVariable, environment: Context['environment']): boolean {
  return sourcesOf(name, environment).length > 0;
}

/**
 * Returns a secret from its variable, from the first line of the file named by `<NAME>_FILE`, or from the
 * first line printed by the command in `<NAME>_COMMAND`; undefined if none is set. A key is the whole text. A
 * workload's token is read on each use, since others renew it; all other secrets are read once per run,
 * unless that fails. Throws `UsageError` if two are set, or if a file or command does not provide a secret.
 */
export async function givenSecret(name: SecretVariable, context: SecretContext): Promise<string | undefined> {
  if (!isSecretGiven(name, context.environment)) return undefined;
  if (name === FRESH) return await readSecret(name, context);
  return await readOnce(name, context, () => readSecret(name, context));
}

/**
 * Returns the secret on the first line of the file named by a saved setting. The rules are those of
 * `<NAME>_FILE`. Throws `UsageError`.
 */
export async function secretOfFile(setting: string, file: string, context: SecretContext) {
  return await readOnce(file, context, () => {
    const source = { variable: setting, file, named: terminalSafeLine(file) };
    return secretInFile(source, false, context);
  });
}

async function readOnce<Secret extends string | undefined>(
  name: string,
  { memory }: SecretContext,
  read: () => Promise<Secret>,
): Promise<Secret> {
  const secret = (memory.secrets.get(name) as Promise<Secret> | undefined) ?? read();
  memory.secrets.set(name, secret);
  try {
    return await secret;
  } catch (error) {
    memory.secrets.delete(name);
    throw error;
  }
}

/** Returns those of `<NAME>`, `<NAME>_FILE` and `<NAME>_COMMAND` that are set. */
export function sourcesOf(name: SecretVariable, environment: Context['environment']): string[] {
  const elsewhere = [`${name}_FILE`, `${name}_COMMAND`];
  const variables = WITHOUT_VARIABLE.includes(name) ? elsewhere : [name, ...elsewhere];
  return variables.filter((variable) => environment[variable]?.trim());
}

async function readSecret(name: SecretVariable, context: SecretContext): Promise<string | undefined> {
  const sources = sourcesOf(name, context.environment);
  const [variable] = sources;
  if (variable === undefined) return undefined;
  if (sources.length > 1) {
    throw new UsageError(`${sources.join(' and ')} are both set, but a secret can have only one source`, {
      next: 'unset all but one of them',
    });
  }
  const value = context.environment[variable] as string;
  if (variable === name) return value;
  const isWhole = name === WHOLE;
  return variable.endsWith('_FILE')
    ? await secretInFile({ variable, file: value, named: 'the file' }, isWhole, context)
    : await secretOfCommand(variable, value, isWhole, context);
}

interface FileSource {
  readonly variable: string;
  readonly file: string;
  /** The file in messages: a variable for its path may hold the secret itself by mistake. */
  readonly named: string;
}

async function secretInFile(
  { variable, file, named }: FileSource,
  isWhole: boolean,
  context: SecretContext,
): Promise<string> {
  let bytes: Buffer;
  try {
    const { fd, stats } = openWithoutWaiting(file);
    try {
      checkAccess(variable, file, stats, context);
      bytes = await readStart(fd, stats.isFIFO() || stats.isSocket(), isWhole, context);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (error instanceof UsageError || context.signal.aborted) throw error;
    throw new UsageError(`${variable}: ${named} cannot be read: ${faultText(error)}`, {
      next: isWhole ? 'name a file with the key' : 'name a file with the secret on its first line',
      cause: error,
    });
  }
  return secretIn(bytes.toString(encodingOf(bytes)), variable, named, isWhole);
}

/**
 * Rejects a file that others can write or replace, and warns of one that they can read. Windows has no such
 * modes, and devices such as /dev/null belong to the system.
 */
function checkAccess(variable: string, file: string, stats: Stats, { machine, memory }: SecretContext): void {
  if (machine.platform === 'win32' || stats.isCharacterDevice()) return;
  const shown = terminalSafeLine(file);
  if (stats.uid !== 0 && stats.uid !== machine.userId) {
    throw new UsageError(`${variable}: ${shown} belongs to another user (${stats.uid}), who can write it`, {
      next: 'name a file of your own',
    });
  }
  if ((stats.mode & 0o022) !== 0) {
    throw new UsageError(`${variable}: others can write ${shown}`, {
      next: stats.isFile() ? 'run `chmod 600` on it' : 'name a file that only you can write',
    });
  }
  const danger = replaceableBy(file, machine);
  if (danger !== undefined) {
    throw new UsageError(`${variable}: others can replace ${shown}, since ${terminalSafeLine(danger)}`, {
      next: 'name a file in a folder that only you can write to',
    });
  }
  // A secret mounted below /run (Docker, systemd) is protected by its folder.
  if ((stats.mode & 0o044) !== 0 && !/^\/(var\/)?run\//.test(realpathSync(file)))
    memory.warn?.(`${variable}: others can read ${shown}`);
}

/**
 * Reads the start of a file or device, or the first line of a pipe, such as bash's `<(command)`: up to a
 * minute, until the signal aborts. `isWhole`: reads all lines.
 */
async function readStart(
  fd: number,
  isPipe: boolean,
  isWhole: boolean,
  { clock, signal }: SecretContext,
): Promise<Buffer> {
  const bytes = Buffer.alloc(SOURCE_LIMIT_BYTES);
  const began = clock.now();
  let length = 0;
  let hasWriter = !isPipe;
  const isDone = () => !isWhole && bytes.subarray(0, length).includes('\n');
  while (length < bytes.length && !isDone()) {
    const read = readMore(fd, bytes.subarray(length));
    if (read === 'empty') hasWriter = true;
    else {
      length += read;
      if (read > 0) continue;
      // End of a file, or the last writer has closed the pipe. Otherwise no writer has opened the pipe yet.
      if (hasWriter || length > 0) break;
    }
    requirePatience(clock.now() - began, hasWriter);
    await clock.sleep(PIPE_POLL_MS, signal);
  }
  return bytes.subarray(0, length);
}

function readMore(fd: number, room: Buffer): number | 'empty' {
  try {
    return readSync(fd, room, 0, room.length, null);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    return 'empty';
  }
}

function requirePatience(waitedMs: number, hasWriter: boolean): void {
  if (!hasWriter && waitedMs >= WRITER_LIMIT_MS) throw new Error('it is a pipe that nobody writes to');
  if (waitedMs >= SOURCE_LIMIT_MS)
    throw new Error(`it is a pipe that gave no line within ${SOURCE_LIMIT_MS / 1000} s`);
}

async function secretOfCommand(
  variable: string,
  command: string,
  isWhole: boolean,
  context: SecretContext,
): Promise<string> {
  const { environment, clock, stderr, signal } = context;
  const { spawn } = await import('node:child_process');
  const secrets: readonly string[] = SECRET_VARIABLES;
  const child = spawn(command, {
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: Object.fromEntries(Object.entries(environment).filter(([name]) => !secrets.includes(name))),
    windowsHide: true,
  });
  const closed = once(child, 'close');
  // A command that cannot be started is reported below.
  closed.catch(() => undefined);
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed = (printed + text).slice(0, SOURCE_LIMIT_BYTES);
  });
  // The user has to see the command's prompts and errors.
  child.stderr.on('data', (bytes: Buffer) => void stderr.write(bytes).catch(() => undefined));
  const over = new AbortController();
  const wait = (milliseconds: number) => clock.sleep(milliseconds, AbortSignal.any([over.signal, signal]));
  const failed = (how: string) =>
    new UsageError(`${variable}: the command ${how}`, {
      next: 'run the command by itself to see what it says',
    });
  const late = wait(SOURCE_LIMIT_MS).then(() => {
    throw failed(`did not end within ${SOURCE_LIMIT_MS / 1000} s`);
  });
  try {
    const [code, name] = await Promise.race([once(child, 'exit'), late]);
    if (code !== 0) throw failed(name ? `was ended by ${name}` : `failed with exit code ${code}`);
    await Promise.race([closed, wait(LATE_OUTPUT_MS)]);
  } catch (error) {
    const isOurs = error instanceof UsageError || signal.aborted;
    throw isOurs ? error : failed(`could not be started: ${(error as Error).message}`);
  } finally {
    over.abort(new Error('over'));
    late.catch(() => undefined);
    child.kill();
    for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
  }
  return secretIn(printed, variable, 'the command', isWhole);
}

function secretIn(text: string, variable: string, source: string, isWhole: boolean): string {
  const whole = text.replace(/^\ufeff/, '');
  const secret = trimValue(isWhole ? whole : (whole.split(/\r?\n/, 1)[0] ?? ''));
  if (secret) return secret;
  if (isWhole) throw new UsageError(`${variable}: ${source} gives no key`, { next: 'put the key there' });
  throw new UsageError(`${variable}: ${source} gives no secret: its first line is empty`, {
    next: 'put the secret on the first line',
  });
}

/**
 * True if a header can carry the text unchanged (RFC 6750 section 2.1, and other characters that providers
 * use).
 */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}
