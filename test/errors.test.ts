import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ExitCode, InterruptedError, UsageError } from '../src/errors.ts';
import { createHome } from './support/home.ts';
import { hooktrail } from './support/program.ts';

/** A service that gives every request the same answer, and the environment in which commands ask it. */
async function startService(status: number, body: string) {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as { port: number };
  return serviceAt(`http://127.0.0.1:${port}`);
}

function serviceAt(url: string) {
  return { HOOKTRAIL_BASE_URL: url, HOOKTRAIL_VENDOR: 'v', HOOKTRAIL_ACCESS_TOKEN: 'an-access-token' };
}

/** What a command prints with `--error-format json`: one object a line. */
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
      isTerminal: false,
      columns: 80,
      rows: 24,
      colorDepth: 1,
      stream: () => process.stdout,
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

  test('a form that does not exist is an error', async () => {
    await using home = await createHome();
    expect(await hooktrail(['status', '--error-format', 'jsn'], { env: home.env })).toEqual({
      code: 2,
      stdout: '',
      stderr:
        "error: --error-format: invalid value 'jsn': must be text or json\nnext: hooktrail status --error-format json\n",
    });
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
    isTerminal: false,
    columns: 80,
    rows: 24,
    colorDepth: 1,
    stream: () => process.stdout,
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
