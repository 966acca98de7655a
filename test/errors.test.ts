import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openPager } from '../src/child-programs.ts';
import { ExitCode, HooktrailError, InterruptedError, UsageError } from '../src/errors.ts';
import { clock } from './support/clock.ts';
import { callsIn, commandFor } from './support/command-lines.ts';
import { createHome } from './support/home.ts';
import { fakeOutput } from './support/outputs.ts';
import { hooktrail, startHooktrail } from './support/program.ts';
import type { FaultTarget } from './support/sandbox.ts';
import { accessTokenOf } from './support/sandbox-client.ts';
import { onLoopback } from './support/server.ts';
import { type SigningIn, startSigningIn } from './support/signing-in.ts';

/** A service that gives every request the same answer, and the environment in which commands ask it. */
async function startService(status: number, body: string) {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  const loopback = await onLoopback(server);
  onTestFinished(() => loopback[Symbol.asyncDispose]());
  return serviceAt(loopback.origin);
}

function serviceAt(url: string) {
  return { HOOKTRAIL_BASE_URL: url, HOOKTRAIL_VENDOR: 'v', HOOKTRAIL_ACCESS_TOKEN: 'an-access-token' };
}

describe('every error', () => {
  /*
   * errors.txt is a session of a shell for each error: the lines typed into a new home, what the last one
   * printed on standard error, and its exit code. Beside `hooktrail` the shell knows `echo TEXT > FILE`,
   * `mkdir`, `rm`, and
   *
   *   signed-in                  a sandbox with three events, by an access token in the environment
   *   sandbox                    the same sandbox, to sign in to
   *   fault TARGET STATUS BODY   one answer of that sandbox
   *   answers STATUS BODY        a service that gives this answer to everything, at $PORT
   *   later                      an hour passes
   *   terminal                   the standard streams are a terminal
   *
   * `npx vitest run errors -u` writes the messages anew.
   */
  const CATALOGUE = path.join(import.meta.dirname, 'errors.txt');
  const SOURCE = path.join(import.meta.dirname, '../src');
  /** Errors without words of their own that no line of a shell leads to here, and the test that does. */
  const ELSEWHERE: Readonly<Record<string, string>> = {
    'errors.ts `unexpected: ${thrown instanceof Error ? message : String(thrown)}`': 'errors.test.ts',
    'errors.ts `${call}: ${faultText(thrown)}`': 'errors.test.ts',
    'errors.ts message': 'watch/watch.test.ts',
    'streams.ts error': 'streams.test.ts',
    'folders.ts `${named}: ${place} is a ${kind} that ${how}`': 'files/trusted-path.machine.test.ts',
    'service.ts message': 'http/hostile-answers.test.ts',
    'token-endpoint.ts error.message': 'http/hostile-answers.test.ts',
    'token-endpoint.ts unusableText(what': 'sign-in/client-authentication.test.ts',
    'lock.ts message': 'lock/lock.test.ts',
    'file-vault.ts `the encrypted file of secrets ${how}: ${place}`': 'secrets/file-vault.test.ts',
    'secret-files.ts `${problem}: ${faultText(error)}`': 'secrets/file-vault.test.ts',
    'settings.ts message': 'files/replaced.machine.test.ts',
    'check-subscriptions.ts `${broken.length} of ${checked.length} ${endpoints} ${are} broken, seen from this machine`':
      'subscriptions/check-subscriptions.test.ts',
    "api-tokens.ts 'refused'": 'secrets/keychain-vault.test.ts',
    'new-token.ts message': 'subscriptions/tokens-of-subscriptions.test.ts',
    'journal-file.ts message': 'webhooks/listen/listen.disk.machine.test.ts',
    'recover.ts has': 'webhooks/recover/recover.together.process.test.ts',
    'export-directory.ts gone ? `the directory ${directory} is gone` : `writing to ${directory} failed: ${faultText(error':
      'export/export.process.test.ts',
    'report-page.ts `${file} could not be written: ${(error as Error).message}`':
      'formats/output-faults.machine.test.ts',
    // Commander has no other complaint today.
    'corrections.ts error.message.replace(/^error: /': '',
    // Only a user without the right meets it.
    'listen.ts `--port: this user may not listen on ${port}`': '',
  };

  let at: SigningIn;
  let signedIn: Readonly<Record<string, string>>;
  /** `file:line` of each error that was made. */
  const made = new Set<string>();
  beforeAll(async () => {
    at = await startSigningIn({ events: 3 });
    const { baseUrl, vendor } = at.sandbox.settings;
    const token = await accessTokenOf(at.sandbox);
    signedIn = { ...serviceAt(baseUrl), HOOKTRAIL_VENDOR: vendor, HOOKTRAIL_ACCESS_TOKEN: token };
    // The constructor of all errors of the program assigns the name.
    Object.defineProperty(HooktrailError.prototype, 'name', {
      configurable: true,
      set(this: HooktrailError, value: string) {
        const maker = this.stack?.split('\n').find((line) => /^ +at (?!new )/.test(line)) ?? '';
        made.add(/src\/([^:]+:\d+)/.exec(maker)?.[1] ?? '');
        Object.defineProperty(this, 'name', { value });
      },
    });
  });
  afterAll(async () => {
    Reflect.deleteProperty(HooktrailError.prototype, 'name');
    await at[Symbol.asyncDispose]();
  });

  const wordsOf = (line: string) =>
    [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
      word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'),
    );

  /**
   * Types the lines into a new home. Returns what the last one prints on standard error, and its exit code. A
   * usage error prints nothing else, but for a pager that cannot be run.
   */
  async function type(lines: readonly string[]): Promise<string> {
    await using home = await createHome();
    const restore = clock.held();
    let env: Record<string, string> = { ...home.env };
    let port = '';
    let terminal: number | undefined;
    let printed = '';
    for (const line of lines) {
      const [, verb = '', rest = ''] = /^(\S+) ?(.*)/.exec(line) ?? [];
      const words = wordsOf(rest);
      const file = path.join(home.folder, words.at(-1) ?? '');
      const [, target, status, body = ''] = /^([a-z]*) ?(\d+) ?(.*)/.exec(rest) ?? [];
      if (verb === 'signed-in') env = { ...env, ...signedIn };
      else if (verb === 'sandbox') env = { ...at.env, ...env };
      else if (verb === 'later') clock.advance(3_600_000);
      else if (verb === 'mkdir') await mkdir(file, { recursive: true });
      else if (verb === 'rm') await rm(file);
      else if (verb === 'fault')
        at.sandbox.control.fault(target as FaultTarget, { kind: 'status', status: Number(status), body });
      else if (verb === 'answers') {
        const service = await startService(Number(status), body);
        port = new URL(service.HOOKTRAIL_BASE_URL).port;
        env = { ...env, ...service };
      } else if (verb === 'terminal') {
        terminal = 100;
        env = { ...env, NO_COLOR: '1' };
      } else if (verb === 'echo' && !line.includes(' | ')) {
        await mkdir(path.dirname(file), { recursive: true });
        await writeFile(file, words.slice(0, -2).join(' '));
      } else {
        const [input = '', command = line] = line.split(' | hooktrail').length > 1 ? line.split(' | ') : [];
        const typed = wordsOf(command).map((word) => word.replace('$PORT', port));
        const at = typed.indexOf('hooktrail');
        const variables = typed.slice(0, at).map((word) => word.split(/=(.*)/s).slice(0, 2));
        const program = startHooktrail(typed.slice(at + 1), {
          env: { ...env, ...Object.fromEntries(variables) },
          stdin: wordsOf(input).slice(1).join(' ').replaceAll('\\n', '\n'),
          ...(terminal ? { terminal } : {}),
          context: { openPager: async (command) => openPager(command, env) },
        });
        const { code, stdout, stderr } = await program.finished;
        if (code === ExitCode.usage && !terminal) expect(stdout).toBe('');
        // A prompt or a help stands before the error.
        printed = `${stderr.replace(/(?<![\s\S])(?!error: |warning: )[\s\S]*?(?=^error: )/m, '')}[${code}]\n`;
      }
    }
    restore();
    return (
      printed
        .replaceAll(home.folder, '~')
        .replaceAll(/~[0-9a-f]{16}(?=\.vault)/g, '~ID')
        // Newer Nodes add it to the position.
        .replaceAll(/ \(line \d+ column \d+\)/g, '')
        .replaceAll(new URL(at.sandbox.settings.baseUrl).port, 'PORT')
        .replaceAll(port || 'no port', 'PORT')
    );
  }

  test('has its text, its exit code, and a next step whose commands parse', {
    timeout: 240_000,
  }, async () => {
    const wrong: string[] = [];
    let whole = '';
    for (const block of (await readFile(CATALOGUE, 'utf8')).trimEnd().split('\n\n')) {
      const typed = block.split('\n').filter((line) => line.startsWith('$ '));
      const printed = typed.length > 0 ? await type(typed.map((line) => line.slice(2))) : `${block}\n`;
      whole += `${whole && '\n'}${typed.map((line) => `${line}\n`).join('')}${printed}`;
      const next = /^next: (.*)$/m.exec(printed)?.[1] ?? '';
      const lines = next.startsWith('hooktrail ') ? [next] : next.match(/(?<=`)hooktrail [^`]*/g);
      for (const words of (lines ?? []).flatMap(callsIn)) {
        const problem = words.includes('--help')
          ? ''
          : await commandFor(words).then(
              () => '',
              (error) => error.message,
            );
        // A text may speak of a command without its arguments.
        if (!/^$|missing required argument/.test(problem)) wrong.push(problem);
      }
    }
    expect(wrong).toEqual([]);
    await expect(whole).toMatchFileSnapshot(CATALOGUE);
  });

  const filesIn = (folder: string, ending: string) =>
    (readdirSync(folder, { recursive: true }) as string[])
      .filter((file) => file.endsWith(ending))
      .map((file) => ({ file, text: readFileSync(path.join(folder, file), 'utf8') }));

  /** Returns each `new …Error(` of an error that is shown to users, with the source of its message. */
  function placesOf(sources: readonly { file: string; text: string }[]) {
    const classes = sources.flatMap(({ text }) => [...text.matchAll(/class (\w+) extends (\w+)/g)]);
    const family = new Set(['HooktrailError']);
    for (const _ of classes)
      for (const [, name = '', parent = ''] of classes) if (family.has(parent)) family.add(name);
    for (const name of ['InterruptedError', 'NoAnswerError', 'ClosedPipeError']) family.delete(name);
    const place =
      /\bnew (\w+)\(\s*(?:\w+,\s*(?=['"`]))?('[^']*'|"[^"]*"|`(?:[^`$]|\$\{(?:[^{}`]|`[^`]*`)*\}|\$)*`|[^,;)]*)/g;
    return sources.flatMap(({ file, text }) =>
      [...text.matchAll(place)]
        .filter(([, name = '']) => family.has(name))
        .map(({ index, 2: message = '' }) => ({
          at: `${file}:${text.slice(0, index).split('\n').length}`,
          name: `${path.basename(file)} ${message.replaceAll(/\s+/g, ' ').trim()}`,
          literals: /^['"`]/.test(message) ? message.slice(1, -1).split(/\$\{[^}]*\}/) : [],
        })),
    );
  }

  test('of the source is in the catalogue, or its words are in another test', () => {
    const tests = filesIn(import.meta.dirname, '.test.ts').filter(({ file }) => file !== 'errors.test.ts');
    const all = tests.map(({ text }) => text).join('\n');
    const isElsewhere = (literal: string) => {
      const words = literal.trim().split(' ');
      const runs = words.map((_, at) => words.slice(at, at + 4).join(' ')).slice(0, -3);
      return [literal, ...runs].some((run) => run.length > 10 && all.includes(run));
    };
    const sources = filesIn(SOURCE, '.ts').filter(({ file }) => !file.startsWith('sandbox/'));
    const missing = placesOf(sources)
      // The conditions of a keychain have their texts in one table, which keychain-conditions.machine.test.ts
      // prints.
      .filter(({ at }) => !/^secrets\/(keychain|secret-service)/.test(at))
      .filter(
        ({ at, name, literals }) => !made.has(at) && !literals.some(isElsewhere) && !(name in ELSEWHERE),
      );
    expect(missing.map(({ at, name }) => `${at}: ${name}`)).toEqual([]);
  });
});

/** The lines that a command prints with `--error-format json`: one object a line. */
async function problems(args: readonly string[], env: Record<string, string> = {}, context = {}) {
  await using home = await createHome();
  const { code, stderr } = await hooktrail([...args, '--error-format', 'json', '--quiet'], {
    env: { ...home.env, ...env },
    context,
  });
  const lines = stderr.trimEnd().split('\n').filter(Boolean);
  return [code, ...lines.map((line) => JSON.parse(line))];
}

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';

describe('--error-format json', () => {
  test('usage: a flag that does not exist, before any setting is looked at', async () => {
    expect(await problems(['events', 'search', '--nonsense-of-mine'])).toEqual([
      2,
      {
        level: 'error',
        kind: 'usage',
        exitCode: 2,
        message: "unknown option '--nonsense-of-mine'",
        next: expect.any(String),
      },
    ]);
  });

  test('service: the status, and the Error object of the service as it came', async () => {
    const error = { code: 'event.invalid', message: 'no', property: null, properties: { seen: '11' } };
    expect(await problems(['events', 'count'], await startService(409, JSON.stringify(error)))).toEqual([
      1,
      {
        level: 'error',
        kind: 'service',
        exitCode: 1,
        message: 'the search failed: the service answered 409 Conflict',
        details: ['code: event.invalid', 'message: no', 'properties:', '  seen: 11'],
        status: 409,
        retryable: false,
        error,
      },
    ]);
  });

  test('service: an error that may pass is retryable', async () => {
    const [code, problem] = await problems(['events', 'count'], await startService(503, 'later'));
    expect([code, problem]).toMatchObject([
      1,
      { kind: 'service', status: 503, retryable: true, details: ['later'] },
    ]);
    expect(problem).not.toHaveProperty('error');
  });

  test('sign-in: a token that the service refuses, and nobody signed in', async () => {
    const refused = await problems(['events', 'count'], await startService(401, ''));
    expect(refused).toMatchObject([4, { kind: 'sign-in', exitCode: 4, status: 401 }]);
  });

  test('unreachable: retryable', async () => {
    const env = serviceAt('http://127.0.0.1:1');
    expect(await problems(['events', 'count'], env)).toMatchObject([
      5,
      { level: 'error', kind: 'unreachable', exitCode: 5, retryable: true },
    ]);
  });

  test('not-found: a warning for each id', async () => {
    const env = await startService(200, '{"items":[],"count":0}');
    expect(await problems(['events', 'get', GUID, '--json'], env)).toMatchObject([
      3,
      { level: 'warning', kind: 'not-found', exitCode: 3, message: `the event ${GUID} was not found` },
    ]);
  });

  test('incomplete: fewer events than the service counts', async () => {
    const env = await startService(200, '{"items":[{"eventId":"1"}],"count":2,"limit":500}');
    expect(await problems(['events', 'search', '--ndjson'], env)).toMatchObject([
      1,
      { level: 'error', kind: 'incomplete', exitCode: 1 },
    ]);
  });

  test('interrupted: said, although people see it', async () => {
    const abort = new AbortController();
    abort.abort(new InterruptedError('SIGINT'));
    expect(await problems(['keygen'], {}, { signal: abort.signal })).toEqual([
      130,
      { level: 'error', kind: 'interrupted', exitCode: 130, message: 'interrupted' },
    ]);
  });

  test('internal: a defect of the program', async () => {
    const stdout = {
      ...fakeOutput(),
      write: async () => {
        throw new TypeError('x is not a function');
      },
    };
    expect(await problems(['keygen'], {}, { stdout })).toMatchObject([
      1,
      { level: 'error', kind: 'internal', exitCode: 1, message: 'unexpected: x is not a function' },
    ]);
  });

  test('a warning is a line, too', async () => {
    const env = await startService(200, '{"items":[{"eventId":"1"}],"count":1,"limit":500}');
    expect(await problems(['events', 'search', '--ndjson', '--fields', 'EventId'], env)).toMatchObject([
      0,
      { level: 'warning', kind: 'usage', message: expect.stringContaining('EventId') },
    ]);
  });

  test.each<[string, string[], string]>([
    ['usage', ['search', '--where', 'EventId = 1', '--ndjson'], 'no event has the field'],
    ['incomplete', ['health', '--by', 'eventId', '--json'], 'events have no time'],
  ])('a warning is of the kind %s for %j', async (kind, args, text) => {
    const env = await startService(
      200,
      '{"items":[{"eventId":"1","publishStatus":"NEW"}],"count":1,"limit":500}',
    );
    const [code, ...warnings] = await problems(['events', ...args], env);
    const warning = { level: 'warning', kind, message: expect.stringContaining(text) };
    expect([code, warnings]).toEqual([0, expect.arrayContaining([warning])]);
  });

  test('is a setting: by variable, and saved in a profile; a flag overrides both', async () => {
    await using home = await createHome();
    const kindOf = async (args: string[], more = {}) => {
      const { stderr } = await hooktrail(['nonsense', ...args], { env: { ...home.env, ...more } });
      return stderr.startsWith('{') ? JSON.parse(stderr).kind : 'text';
    };
    const json = { HOOKTRAIL_ERROR_FORMAT: 'json' };
    expect([await kindOf([]), await kindOf([], json), await kindOf(['--error-format=text'], json)]).toEqual([
      'text',
      'usage',
      'text',
    ]);
    await hooktrail(['config', 'set', 'error-format', 'json', '--profile', 'ci'], { env: home.env });
    expect([await kindOf([]), await kindOf(['--profile', 'ci'])]).toEqual(['text', 'usage']);
  });
});

test('a failed system call that no command explains is said as it is, not called a defect', async () => {
  await using home = await createHome();
  const browser = {
    open: async () => {
      throw new UsageError('unused');
    },
  };
  const stdout = {
    ...fakeOutput(),
    write: async () => {
      const parts = { code: 'EACCES', syscall: 'mkdir', errno: -13, path: '/srv/x' };
      throw Object.assign(new Error("EACCES: permission denied, mkdir '/srv/x'"), parts);
    },
  };
  expect(await hooktrail(['keygen'], { env: home.env, context: { browser, stdout } })).toEqual({
    code: ExitCode.failed,
    stdout: '',
    stderr:
      "error: mkdir '/srv/x': permission denied (EACCES)\nnext: let this user write there, or name another place\n",
  });
});
