import path from 'node:path';
import { expect, test } from 'vitest';
import { readSources, type Source } from './sources.ts';

/**
 * The layers, from the top: a folder of `src`, or a file beside the folders. Each imports only itself and
 * layers below it, types included. A feature's folder holds its command, its work and its text.
 */
const layers: readonly string[] = [
  'cli',
  'mcp',
  'doctor',
  'demo',
  'report',
  'browse',
  'profiles',
  'event-types',
  'api',
  'webhooks',
  'subscriptions',
  'about',
  'health',
  'search',
  'find',
  'watch',
  'get',
  'count',
  'explain',
  'stats',
  'ids',
  'sample',
  'questions',
  'sources',
  'export',
  'sign-in',
  'secrets',
  'formats',
  'filters',
  'paging',
  'names',
  'statistics',
  'http',
  'items',
  'command',
  'terminal',
  'settings',
  'lock',
  'time',
  'files',
  'sandbox',
  'system',
  'streams',
  'child-programs',
  'agent-mode',
  'context',
  'errors',
  'advice',
  'shell-words',
  'version',
];

/** undici sends every HTTP request, and this file names the parts of it that are loaded. */
const clientLibrary = 'src/http/connections.ts';

/** Libraries that are too slow to load for a declaration of flags. */
const heavy =
  /^(ora|open|chalk|jq-wasm|oidc-provider|cli-table3|oauth4webapi|string-width|keytar|@modelcontextprotocol|zod)/;
/** The only file that knows the process and its clock. */
const system = 'src/system.ts';
const forbiddenName = /^(utils?|helpers?|common|misc)(\.|$)/;

/** The beginning of a command of ours in the backquotes of a text. The examples of help begin a line. */
const QUOTED_COMMAND = /(?<!^ *)\\?`hooktrail [a-z-]/m;
/**
 * Texts that stay as they are written: help, what agents read, and messages, which say what happened and not
 * what to type.
 */
const HAS_FIXED_TEXTS: readonly string[] = [
  'src/demo/sandbox-command.ts',
  'src/export/read-export.ts',
  'src/mcp/mcp-server.ts',
  'src/mcp/mcp-tools.ts',
  'src/report/report-page.ts',
  'src/secrets/file-vault.ts',
  'src/secrets/keygen-command.ts',
  'src/sign-in/login/login-command.ts',
  'src/sign-in/logout-command.ts',
  'src/sign-in/redirect-listener.ts',
  'src/sign-in/sign-out.ts',
  'src/sources/stored-place.ts',
];

/** An import or a call of what opens a file for writing, or makes a folder. */
const OPENING =
  '(?:open|openSync|writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|mkdir|mkdirSync|mkdtemp|copyFile)';
const OPENS_TO_WRITE = new RegExp(
  `import \\{[^}]*\\b${OPENING}\\b[^}]*\\} from 'node:fs(?:/promises)?'|\\b(?:fs|files)\\.${OPENING}\\(`,
);
/**
 * Beside `src/files`: a lock's file, which only one process can create; a journal, which is opened again; and
 * a device that the user names.
 */
const MAY_OPEN_TO_WRITE: readonly string[] = [
  'src/formats/output-file.ts',
  'src/lock/lock-file.ts',
  'src/webhooks/journal-file.ts',
];

/** Returns one line for each rule that a file breaks, and one for each circle of imports. */
function violations(sources: readonly Source[]): string[] {
  const broken = sources.flatMap((source) =>
    [...new Set(brokenRules(source))].map((rule) => `${source.path}: ${rule}`),
  );
  return [...broken, ...circles(sources)];
}

/**
 * Finds files of `src` that import each other, types included: `a → b → a` for each circle that a walk from
 * the top finds.
 */
function circles(sources: readonly Source[]): string[] {
  const imports = new Map(
    sources
      .filter(({ path: file }) => file.startsWith('src/'))
      .map(({ path: file, text }) => [
        file,
        importsOf(withoutComments(text))
          .filter(({ from }) => from.startsWith('.'))
          .map(({ from }) => path.posix.join(path.posix.dirname(file), from)),
      ]),
  );
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (file: string, above: readonly string[]) => {
    if (above.includes(file)) {
      const circle = [...above.slice(above.indexOf(file)), file];
      found.push(`${file}: files import each other in a circle: ${circle.join(' → ')}`);
    }
    if (done.has(file)) return;
    done.add(file);
    for (const imported of imports.get(file) ?? []) walk(imported, [...above, file]);
  };
  for (const file of imports.keys()) walk(file, []);
  return found;
}

function brokenRules({ path: file, text }: Source): string[] {
  const broken: string[] = [];
  const code = withoutComments(text);
  const isSource = file.startsWith('src/');
  if (file.split('/').some((part) => forbiddenName.test(part))) broken.push('a name without a subject');
  if (!file.startsWith('test/') && file !== system && /\bprocess\.exit\(/.test(code))
    broken.push('process.exit cuts pipes short');
  else if (isSource && file !== system && /\bprocess\.|['"]node:process['"]/.test(code))
    broken.push('only the system knows process');
  if (isSource && /^(export )?const \w+ = new WeakMap\b/m.test(code))
    broken.push('what a run remembers stands in its context');
  if (isSource && file !== system && /\bDate\.now\(\)|new Date\(\)/.test(code))
    broken.push('only the system knows the clock');
  if (file.endsWith('.test.ts') && !file.startsWith('test/architecture/')) broken.push(...brokenByTest(code));
  if (
    /^[^.]*\.test\.ts$/.test(path.posix.basename(file)) &&
    importsOf(code).some(({ from, isType }) => !isType && /support\/(process\.ts|machine\/.*)$/.test(from))
  )
    broken.push('a test that starts processes or needs a tool says so in its name');
  const mayOpen = file.startsWith('src/files/') || MAY_OPEN_TO_WRITE.includes(file);
  if (isSource && !mayOpen && OPENS_TO_WRITE.test(code))
    broken.push('files are opened for writing in src/files');
  if (isSource && !HAS_FIXED_TEXTS.includes(file) && QUOTED_COMMAND.test(code))
    broken.push('a text has a command of ours as a value (src/advice.ts)');
  if (isSource) for (const imported of importsOf(code)) broken.push(...brokenBy(file, imported));
  return broken;
}

/**
 * A test takes nothing from the machine: its clock, its folders and its seed are given
 * (test/support/program.ts).
 */
function brokenByTest(code: string): string[] {
  const broken: string[] = [];
  if (/\bDate\.now\b|new Date\(\)/.test(code)) broken.push("a test's time is clock.now()");
  if (/['"`]\/(tmp|var\/tmp)\b/.test(code)) broken.push("a test's folders lie in os.tmpdir()");
  if (/\bseed:.*numRuns|numRuns.*\bseed:/.test(code))
    broken.push('properties are drawn from the seed of the run');
  return broken;
}

interface Import {
  readonly from: string;
  readonly isType: boolean;
  readonly isDynamic: boolean;
}

function importsOf(code: string): Import[] {
  const fixed = [...code.matchAll(/^(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'/gm)].map(
    ([, type, from = '']) => ({ from, isType: Boolean(type), isDynamic: false }),
  );
  const dynamic = [...code.matchAll(/\bimport\('([^']+)'\)/g)].map(([, from = '']) => ({
    from,
    isType: false,
    isDynamic: true,
  }));
  return [...fixed, ...dynamic];
}

function brokenBy(file: string, { from, isType, isDynamic }: Import): string[] {
  if (!from.startsWith('.')) {
    const isUndici = !isType && /^undici(\/|$)/.test(from);
    if (isUndici && file.startsWith('src/') && file !== clientLibrary)
      return [`only ${clientLibrary} loads undici`];
    const isEarly = !isType && !isDynamic && heavy.test(from) && isCommand(file);
    return isEarly ? ['heavy libraries are imported when used'] : [];
  }
  const target = path.posix.join(path.posix.dirname(file), from);
  if (!target.startsWith('src/')) return [];
  const [own, other] = [partOf(file), partOf(target)];
  if (isCommand(target) && file !== commandTree) return [`only ${commandTree} imports a command`];
  if (own === other) return [];
  // The sandbox is an independent implementation: it shares nothing with the client, and only its commands
  // start it.
  if (own === 'sandbox' || (other === 'sandbox' && own !== 'demo'))
    return [`${own} must not import ${other}`];
  return layerOf(own) < layerOf(other) ? [] : [`${own} must not import ${other}`];
}

const commandTree = 'src/cli/command-tree.ts';

/** True for the file with a command's flags and help. */
function isCommand(file: string): boolean {
  return file.endsWith('-command.ts') && file !== 'src/watch/event-command.ts';
}

/** Returns the folder below `src`, or the file's own name. */
function partOf(file: string): string {
  return (file.split('/')[1] ?? '').replace(/\.ts$/, '');
}

function layerOf(part: string): number {
  const layer = layers.indexOf(part);
  if (layer === -1) throw new Error(`src/${part} has no layer: give it one in ${import.meta.filename}`);
  return layer;
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
}

test('the rules of the code hold in every file', async () => {
  const sources = await readSources();
  expect(sources.length).toBeGreaterThan(100);
  expect(violations(sources)).toEqual([]);
});

test.each([
  ['src/http/x.ts', "import type { A } from '../paging/page.ts';", 'http must not import paging'],
  ['src/http/x.ts', "const a = await import('../cli/program.ts');", 'http must not import cli'],
  ['src/sandbox/x.ts', "import type { A } from '../errors.ts';", 'sandbox must not import errors'],
  [
    'src/search/x.ts',
    "import { a } from '../get/get-command.ts';",
    'only src/cli/command-tree.ts imports a command',
  ],
  ['src/paging/x.ts', 'process.exitCode = 1;', 'only the system knows process'],
  [
    'src/paging/x.ts',
    'const doors = new WeakMap<object, string>();',
    'what a run remembers stands in its context',
  ],
  [
    'src/paging/x.ts',
    "const next = 'run `hooktrail login`';",
    'a text has a command of ours as a value (src/advice.ts)',
  ],
  [
    'src/paging/x.ts',
    "import { open } from 'node:fs/promises';\nawait open(file, 'w');",
    'files are opened for writing in src/files',
  ],
  ['src/paging/x.ts', 'const now = Date.now();', 'only the system knows the clock'],
  ['test/paging/x.test.ts', 'const now = Date.now();', "a test's time is clock.now()"],
])('%s with %j breaks a rule', (file, text, rule) => {
  expect(violations([{ path: file, text }])).toEqual([`${file}: ${rule}`]);
});

test('files that import each other in a circle are found, types and dynamic imports included', () => {
  const circle = [
    { path: 'src/http/x.ts', text: "import { b } from './y.ts';" },
    { path: 'src/http/y.ts', text: "const { a } = await import('./x.ts');" },
  ];
  expect(violations(circle)[0]).toMatch(/in a circle: src\/http\/x.ts → src\/http\/y.ts → src\/http\/x.ts$/);
});
