import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { chmod, open, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { SECRET_VARIABLES } from '../../src/context.ts';
import { givenSecret } from '../../src/secrets/given-secret.ts';
import { clock } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

const at = forEachTest(createHome);
/** Returns the passphrase that the environment gives, and what was printed on standard error. */
function give(environment: Record<string, string>, signal = new AbortController().signal) {
  const said: string[] = [];
  const plain = createContext({ environment: { PATH: process.env['PATH'], ...environment }, clock, signal });
  const stderr = {
    ...plain.stderr,
    write: async (text: string | Uint8Array) => void said.push(String(text)),
  };
  const context = { ...plain, stderr };
  context.memory.warn = (text) => void said.push(`warning: ${text}\n`);
  return { said, secret: givenSecret('HOOKTRAIL_PASSPHRASE', context) };
}

async function file(text: string, mode = 0o600): Promise<string> {
  const place = path.join(at.folder, 'secret');
  await writeFile(place, text);
  await chmod(place, mode);
  return place;
}

function pipe(): string {
  const place = path.join(at.folder, 'pipe');
  execFileSync('mkfifo', ['-m', '600', place]);
  return place;
}

test('a variable gives its value, and no variable gives nothing', async () => {
  expect(await give({ HOOKTRAIL_PASSPHRASE: 'a secret ' }).secret).toBe('a secret ');
  expect(await give({ HOOKTRAIL_PASSPHRASE: ' ' }).secret).toBeUndefined();
  expect(await give({}).secret).toBeUndefined();
});

test.each([
  ['HOOKTRAIL_PASSPHRASE', 'HOOKTRAIL_PASSPHRASE_FILE'],
  ['HOOKTRAIL_PASSPHRASE_FILE', 'HOOKTRAIL_PASSPHRASE_COMMAND'],
])('%s and %s together are a usage error', async (one, other) => {
  await expect(give({ [one]: 'x', [other]: 'x' }).secret).rejects.toMatchObject({
    exitCode: 2,
    message: `${one} and ${other} are both set, but a secret can have only one source`,
    next: 'unset all but one of them',
  });
});

describe('a passphrase file', () => {
  test.each([
    ['one line', 'the secret\n'],
    ['one line in the quotes of an environment file', '"the secret"\r\n'],
    ['one line in white space and quotes', " 'the secret '\t\n"],
    ['no line end', 'the secret'],
    ['more lines', 'the secret\nand a note\n'],
    ['a line end of Windows and a byte order mark', '\ufeffthe secret\r\nmore'],
    ['white space around it', '  the secret\t\n'],
  ])('with %s gives its first line', async (_name, text) => {
    const { secret, said } = give({ HOOKTRAIL_PASSPHRASE_FILE: await file(text) });
    expect(await secret).toBe('the secret');
    expect(said).toEqual([]);
  });

  test('in UTF-16, as `>` of Windows PowerShell writes it, gives its first line', async () => {
    const place = await file('');
    await writeFile(place, '\ufeffthe sécret\r\n', 'utf16le');
    expect(await give({ HOOKTRAIL_PASSPHRASE_FILE: place }).secret).toBe('the sécret');
  });

  const EMPTY = 'HOOKTRAIL_PASSPHRASE_FILE: the file gives no secret: its first line is empty';
  test.each<[string, () => Promise<string>, string, string?]>([
    ['is empty', () => file(''), EMPTY],
    ['begins with an empty line', () => file('\n'), EMPTY],
    ['begins with white space alone', () => file('  \nthe second line\n'), EMPTY],
    [
      'is /dev/null, which needs no other mode',
      async () => '/dev/null',
      EMPTY,
      'put the secret on the first line',
    ],
    [
      'does not exist',
      async () => path.join(at.folder, 'nothing'),
      'HOOKTRAIL_PASSPHRASE_FILE: the file cannot be read: no such file or directory (ENOENT)',
    ],
    [
      'its group can write to',
      () => file('the secret\n', 0o620),
      'HOOKTRAIL_PASSPHRASE_FILE: others can write PLACE',
    ],
    [
      'everybody can write to',
      () => file('the secret\n', 0o602),
      'HOOKTRAIL_PASSPHRASE_FILE: others can write PLACE',
    ],
    ...[0o770, 0o777].map((mode): [string, () => Promise<string>, string, string] => [
      `is in a folder that others can write to (${mode.toString(8)})`,
      async () => {
        await chmod(at.folder, mode);
        return await file('the secret\n');
      },
      'HOOKTRAIL_PASSPHRASE_FILE: others can replace PLACE, since others can write to the folder FOLDER',
      'name a file in a folder that only you can write to',
    ]),
  ])('that %s is an error', async (_, make, why, next) => {
    const place = await make();
    const message = why.replace('PLACE', place).replace('FOLDER', at.folder);
    await expect(give({ HOOKTRAIL_PASSPHRASE_FILE: place }).secret).rejects.toMatchObject({
      exitCode: 2,
      message,
      ...(next ? { next } : {}),
    });
  });

  test.each([0o640, 0o604, 0o644])('that others can read (%o) is a warning', async (mode) => {
    const place = await file('the secret\n', mode);
    const { secret, said } = give({ HOOKTRAIL_PASSPHRASE_FILE: place });
    expect(await secret).toBe('the secret');
    expect(said).toEqual([`warning: HOOKTRAIL_PASSPHRASE_FILE: others can read ${place}\n`]);
  });

  test('that others can read is one line of JSON with --error-format json', async () => {
    await using home = await createHome();
    const env = { ...home.env, HOOKTRAIL_ACCESS_TOKEN_FILE: await file('the-token\n', 0o644) };
    expect(await hooktrail(['token', '--error-format', 'json'], { env })).toEqual({
      code: 0,
      stdout: 'the-token\n',
      stderr: `${JSON.stringify({
        level: 'warning',
        kind: 'usage',
        message: `HOOKTRAIL_ACCESS_TOKEN_FILE: others can read ${env.HOOKTRAIL_ACCESS_TOKEN_FILE}`,
      })}\n`,
    });
  });

  test('of the user in a folder like /tmp, where others cannot replace it, is accepted', async () => {
    const place = await file('the secret\n');
    await chmod(at.folder, 0o1777);
    expect(await give({ HOOKTRAIL_PASSPHRASE_FILE: place }).secret).toBe('the secret');
  });

  test('that is a pipe gives the first line that is written to it', async () => {
    const place = pipe();
    const { secret } = give({ HOOKTRAIL_PASSPHRASE_FILE: place });
    const writer = await open(place, 'w');
    await writer.write('the ');
    await clock.slept(2);
    await writer.write('secret\nmore');
    expect(await secret).toBe('the secret');
    await writer.close();
  });

  test('that is a pipe without a line end gives what was written until it was closed', async () => {
    const place = pipe();
    // Open for both, so that writing waits for nobody.
    const writer = openSync(place, 'r+');
    const { secret } = give({ HOOKTRAIL_PASSPHRASE_FILE: place });
    writeSync(writer, 'the secret');
    closeSync(writer);
    expect(await secret).toBe('the secret');
  });

  test('that is a pipe without a writer is an error after 2 s', async () => {
    const began = clock.now();
    await expect(give({ HOOKTRAIL_PASSPHRASE_FILE: pipe() }).secret).rejects.toMatchObject({
      exitCode: 2,
      message: 'HOOKTRAIL_PASSPHRASE_FILE: the file cannot be read: it is a pipe that nobody writes to',
    });
    expect(clock.now() - began).toBe(2_000);
  });

  test('that is a pipe ends with an interrupt', async () => {
    const abort = new AbortController();
    const place = pipe();
    const writer = openSync(place, 'r+');
    const { secret } = give({ HOOKTRAIL_PASSPHRASE_FILE: place }, abort.signal);
    const failure = expect(secret).rejects.toThrow('interrupted');
    await clock.slept(1);
    abort.abort(new Error('interrupted'));
    await failure;
    closeSync(writer);
  });

  test('that only its name puts below /run is no exception', async () => {
    const place = `/run/..${await file('the secret\n', 0o644)}`;
    const { secret, said } = give({ HOOKTRAIL_PASSPHRASE_FILE: place });
    expect(await secret).toBe('the secret');
    expect(said).toEqual([`warning: HOOKTRAIL_PASSPHRASE_FILE: others can read ${place}\n`]);
  });
});

describe('a command', () => {
  test.each([
    'echo the secret; sleep 600 &',
    'printf %s "the secret"; sleep 600 >&2 &',
    'sleep 600 & echo the secret;',
  ])('is waited for, and not what it leaves behind on its pipes (%s)', async (command) => {
    const left = path.join(at.folder, 'left');
    const { secret } = give({ HOOKTRAIL_PASSPHRASE_COMMAND: `${command} echo $! > '${left}'` });
    expect(await secret).toBe('the secret');
    process.kill(Number(await readFile(left, 'utf8')));
  });

  test('gives the first line that it prints, in the shell, and its standard error is shown', async () => {
    const command = 'echo look here >&2; printf "the secret\\nmore\\n" | cat';
    const { secret, said } = give({ HOOKTRAIL_PASSPHRASE_COMMAND: command });
    expect(await secret).toBe('the secret');
    expect(said.join('')).toBe('look here\n');
  });

  test('has no standard input', async () => {
    expect(await give({ HOOKTRAIL_PASSPHRASE_COMMAND: 'read line; echo "got <$line>"' }).secret).toBe(
      'got <>',
    );
  });

  test('sees no other secret', async () => {
    const secrets = Object.fromEntries(
      SECRET_VARIABLES.slice(1).map((name) => [name, 'a secret of another']),
    );
    const place = path.join(at.folder, 'environment');
    const command = `env > '${place}'; echo x`;
    expect(await give({ ...secrets, HOOKTRAIL_PASSPHRASE_COMMAND: command }).secret).toBe('x');
    expect(await readFile(place, 'utf8')).not.toContain('a secret of another');
  });

  test.each([
    ['exit 3', 'failed with exit code 3'],
    ['echo the secret; exit 1', 'failed with exit code 1'],
    ['kill -9 $$', 'was ended by SIGKILL'],
    ['/nowhere/at/all', 'failed with exit code 127'],
  ])(
    'that fails (%s) is an error that names the variable and nothing that it printed',
    async (command, how) => {
      await expect(give({ HOOKTRAIL_PASSPHRASE_COMMAND: command }).secret).rejects.toMatchObject({
        exitCode: 2,
        message: `HOOKTRAIL_PASSPHRASE_COMMAND: the command ${how}`,
      });
    },
  );

  test('that prints nothing gives no secret', async () => {
    await expect(give({ HOOKTRAIL_PASSPHRASE_COMMAND: 'true' }).secret).rejects.toMatchObject({
      message: 'HOOKTRAIL_PASSPHRASE_COMMAND: the command gives no secret: its first line is empty',
    });
  });

  test('that takes longer than a minute is an error', async () => {
    const { secret } = give({ HOOKTRAIL_PASSPHRASE_COMMAND: 'sleep 600 & wait' });
    const failure = expect(secret).rejects.toMatchObject({
      exitCode: 2,
      message: 'HOOKTRAIL_PASSPHRASE_COMMAND: the command did not end within 60 s',
    });
    await clock.asleep(60_000);
    clock.advance(60_000);
    await failure;
  });

  test('ends with an interrupt', async () => {
    const abort = new AbortController();
    const { secret } = give({ HOOKTRAIL_PASSPHRASE_COMMAND: 'sleep 600 & wait' }, abort.signal);
    const failure = expect(secret).rejects.toThrow('interrupted');
    await clock.asleep(60_000);
    abort.abort(new Error('interrupted'));
    await failure;
  });

  test('runs once per run of the program', async () => {
    const place = path.join(at.folder, 'runs');
    const context = createContext({
      environment: {
        PATH: process.env['PATH'],
        HOOKTRAIL_PASSPHRASE_COMMAND: `echo run >> '${place}'; echo x`,
      },
      clock,
    });
    const twice = [
      givenSecret('HOOKTRAIL_PASSPHRASE', context),
      givenSecret('HOOKTRAIL_PASSPHRASE', context),
    ];
    expect(await Promise.all(twice)).toEqual(['x', 'x']);
    expect(await readFile(place, 'utf8')).toBe('run\n');
  });
});

test('a source that failed is asked again the next time, as a program that runs for days has to', async () => {
  const flag = path.join(at.folder, 'flag');
  const command = `echo asked >> '${flag}'; test "$(wc -l < '${flag}')" -gt 1 && echo the-secret`;
  const environment = { PATH: process.env['PATH'], HOOKTRAIL_CLIENT_SECRET_COMMAND: command };
  const context = createContext({ environment, clock });
  const ask = () => givenSecret('HOOKTRAIL_CLIENT_SECRET', context);
  await expect(Promise.all([ask(), ask()])).rejects.toThrow('failed with exit code 1');
  expect([await ask(), await ask()]).toEqual(['the-secret', 'the-secret']);
  expect(await readFile(flag, 'utf8')).toBe('asked\nasked\n');
});
