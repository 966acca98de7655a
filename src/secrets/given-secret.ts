import { readFileSync, realpathSync, statSync } from 'node:fs';
import { type Context, SECRET_VARIABLES, type SecretVariable } from '../context.ts';
import { UsageError } from '../errors.ts';
import { encodingOf } from '../files/text-encoding.ts';
import { terminalSafeLine } from '../terminal/terminal-safe.ts';

type Surroundings = Pick<Context, 'environment' | 'machine' | 'clock' | 'stderr' | 'signal'>;

/** Milliseconds that a command may take to print a secret. */
const COMMAND_LIMIT = 60_000;

/** Kept by environment, so that a run that needs a secret twice reads its file, or runs its command, once. */
const found = new WeakMap<Context['environment'], Map<SecretVariable, Promise<string | undefined>>>();

/** Returns whether the environment names a source of the secret. Reads and runs nothing. */
export function isSecretGiven(name: SecretVariable, environment: Context['environment']): boolean {
  return sourcesOf(name, environment).length > 0;
}

/**
 * Returns a secret from its variable, from the first line of the file that `<NAME>_FILE` names, or from the first line
 * that the command in `<NAME>_COMMAND` prints; undefined if none of them is set. Throws `UsageError` if two are set, or
 * if a file or command does not provide a secret.
 */
export async function givenSecret(name: SecretVariable, context: Surroundings): Promise<string | undefined> {
  const known = found.get(context.environment) ?? new Map<SecretVariable, Promise<string | undefined>>();
  found.set(context.environment, known);
  const secret = known.get(name) ?? readSecret(name, context);
  known.set(name, secret);
  return await secret;
}

function sourcesOf(name: SecretVariable, environment: Context['environment']): string[] {
  return [name, `${name}_FILE`, `${name}_COMMAND`].filter((variable) => environment[variable]?.trim());
}

async function readSecret(name: SecretVariable, context: Surroundings): Promise<string | undefined> {
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
  return variable.endsWith('_FILE')
    ? await secretInFile(variable, value, context)
    : await secretOfCommand(variable, value, context);
}

async function secretInFile(
  variable: string,
  file: string,
  { machine, stderr }: Surroundings,
): Promise<string> {
  let text: string;
  let mode: number;
  try {
    const bytes = readFileSync(file);
    text = bytes.toString(encodingOf(bytes));
    mode = statSync(file).mode;
  } catch (error) {
    throw new UsageError(`${variable}: the file cannot be read: ${(error as Error).message}`, {
      next: 'name a file with the secret on its first line',
      cause: error,
    });
  }
  // Windows has no such modes. A secret mounted below /run (Docker, systemd) is protected by its folder.
  if (machine.platform !== 'win32' && (mode & 0o022) !== 0) {
    throw new UsageError(`${variable}: others can write ${terminalSafeLine(file)}`, {
      next: `run \`chmod 600\` on it`,
    });
  }
  if (machine.platform !== 'win32' && (mode & 0o044) !== 0 && !/^\/(var\/)?run\//.test(realpathSync(file))) {
    await stderr.write(`warning: ${variable}: others can read ${terminalSafeLine(file)}\n`);
  }
  return firstLine(text, variable, 'the file');
}

async function secretOfCommand(variable: string, command: string, context: Surroundings): Promise<string> {
  const { environment, clock, stderr, signal } = context;
  const { spawn } = await import('node:child_process');
  const child = spawn(command, {
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: withoutSecrets(environment),
    windowsHide: true,
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed = (printed + text).slice(0, 65_536);
  });
  // The user has to see the command's prompts and errors.
  child.stderr.on('data', (bytes: Buffer) => void stderr.write(bytes).catch(() => undefined));
  const over = new AbortController();
  const ended = new Promise<string | undefined>((resolve) => {
    child.on('error', (error) => resolve(`could not be started: ${error.message}`));
    child.on('close', (code, name) => {
      resolve(code === 0 ? undefined : name ? `was ended by ${name}` : `failed with exit code ${code}`);
    });
  });
  const late = clock
    .sleep(COMMAND_LIMIT, AbortSignal.any([over.signal, signal]))
    .then(() => `did not end within ${COMMAND_LIMIT / 1000} s`);
  let failure: string | undefined;
  try {
    failure = await Promise.race([ended, late]);
  } finally {
    over.abort(new Error('over'));
    late.catch(() => undefined);
    // Programs that the command started may keep the pipes open: do not wait for them.
    child.kill();
    for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
  }
  if (failure) {
    throw new UsageError(`${variable}: the command ${failure}`, {
      next: 'run the command by itself to see what it says',
    });
  }
  return firstLine(printed, variable, 'the command');
}

/** Returns the environment for a command that prints a secret, without the program's other secrets. */
function withoutSecrets(environment: Context['environment']): Record<string, string | undefined> {
  const secrets: readonly string[] = SECRET_VARIABLES;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !secrets.includes(name)));
}

function firstLine(text: string, variable: string, source: string): string {
  const line = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/, 1)[0]
    ?.trim();
  if (line) return line;
  throw new UsageError(`${variable}: ${source} gives no secret: its first line is empty`, {
    next: `put the secret on the first line`,
  });
}

/**
 * Returns whether a header can carry the text unchanged (RFC 6750 section 2.1, and other characters that providers
 * use).
 */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}
