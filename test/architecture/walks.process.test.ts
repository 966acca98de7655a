import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { startHandler } from '../support/handler.ts';
import { sampleOf } from '../support/seed.ts';
import { startSigningIn } from '../support/signing-in.ts';

const root = path.resolve(import.meta.dirname, '../..');
const urlOf = (file: string) => pathToFileURL(path.join(root, file)).href;
/** The program from its source, without a build, so that each function is known by its file. */
const entry = `import { start } from ${JSON.stringify(urlOf('src/cli/start.ts'))}; void start();`;

const WALKS = sampleOf('walks', 1, [
  ['search', 64],
  ['refresh', 39],
  ['login', 52],
  ['recover', 92],
] as const);

/** The files of `src` in which a function is called while a command runs: what its reader has to open. */
const crossed: Record<string, readonly string[]> = {};

beforeAll(async () => {
  await using at = await startSigningIn({ events: 30 });
  await using handler = await startHandler();
  const journal = path.join(at.home.folder, 'events.journal');
  const env = {
    ...at.env,
    HOOKTRAIL_API_TOKEN: 'token',
    HOOKTRAIL_BROWSER: path.join(root, 'test/support/browser-command.mjs'),
  };
  const walk = async (name: string, ...args: string[]) => {
    if (!WALKS.some(([walked]) => walked === name)) return;
    const NODE_V8_COVERAGE = path.join(at.home.folder, `coverage-${name}`);
    crossed[name] = await filesCrossed(args, { ...env, NODE_V8_COVERAGE });
  };
  await walk('login', 'login');
  await at.signIn();
  await walk('search', 'events', 'search', '--failed', '--json');
  const recovered = ['--since', '2026-01-01', '--new-journal', '--journal', journal];
  await walk('recover', 'webhooks', 'recover', ...recovered, '--forward-to', handler.url);
  at.sandbox.control.behaviour.tokenLifetimeSeconds = 30;
  await at.signIn();
  await walk('refresh', 'token');
}, 120_000);

describe('a reader opens few files to follow', () => {
  test.each(WALKS)('%s: at most %i', (command, most) => {
    expect(crossed[command]?.length, crossed[command]?.join('\n')).toBeLessThanOrEqual(most);
  });
});

/**
 * Functions that run while modules are loaded: for names, members, texts with commands in them, heads of
 * columns and words of a grammar. These are read where they are used.
 */
const LOADERS = new Set([
  '__name',
  '<static_initializer>',
  '<instance_members_initializer>',
  'advise',
  'hooktrail',
  'AdviceParts',
  'AdvisedCommand',
  'whoHead',
  'wordsFor',
]);

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number; readonly startOffset: number }[];
    }[];
  }[];
}

async function filesCrossed(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  const source = [
    '--import',
    urlOf('node_modules/tsx/dist/loader.mjs'),
    '--input-type=module',
    '-e',
    entry,
    '--',
    'hooktrail',
  ];
  await promisify(execFile)(process.execPath, [...source, ...args], { env, cwd: root });
  const folder = env['NODE_V8_COVERAGE'] as string;
  const files = new Set<string>();
  for (const name of await readdir(folder)) {
    const { result } = JSON.parse(await readFile(path.join(folder, name), 'utf8')) as Coverage;
    for (const { url, functions } of result) {
      // The first function is the module itself, which is called when it is loaded. tsx names functions and
      // classes then.
      const isCalled = functions
        .slice(1)
        .some(({ functionName, ranges }) => !LOADERS.has(functionName) && (ranges[0]?.count ?? 0) > 0);
      if (isCalled && url.startsWith(urlOf('src/'))) files.add(url.slice(urlOf('').length));
    }
  }
  return [...files].sort();
}
