import { describe, expect, test } from 'vitest';
import { readSources, type Source } from './sources.ts';
import { violations } from './violations.ts';

const source = (path: string, text: string): Source => ({ path, text });

describe('the rules of the code', () => {
  test('hold in every file', async () => {
    const sources = await readSources();
    expect(sources.length).toBeGreaterThan(100);
    expect(violations(sources)).toEqual([]);
  });

  test.each([
    [source('src/http/x.ts', "import { a } from '../commands/login.ts';"), 'http must not import commands'],
    [source('src/http/x.ts', "const a = await import('../program.ts');"), 'http must not import program'],
    [source('src/commands/x.ts', "import { a } from './login.ts';"), 'a command must not import another'],
    [source('src/commands/a/x.ts', "import { a } from '../b/y.ts';"), 'a command must not import another'],
    [source('src/http/x.ts', "import type { A } from '../events/page.ts';"), 'http must not import events'],
    [
      source('src/events/x.ts', "import type { A } from '../output/csv-items.ts';"),
      'events must not import output',
    ],
    [source('src/sandbox/x.ts', "import type { A } from '../errors.ts';"), 'sandbox must not import errors'],
    [source('src/commands/x.ts', "import { a } from '../main.ts';"), 'commands must not import main'],
    [source('src/sandbox/x.ts', "import { a } from '../events/page.ts';"), 'sandbox must not import events'],
    [
      source('src/events/x.ts', "import { a } from '../sandbox/sandbox.ts';"),
      'events must not import sandbox',
    ],
    [source('src/events/x.ts', 'process.exitCode = 1;'), 'only the system knows process'],
    [source('src/events/x.ts', "import process from 'node:process';"), 'only the system knows process'],
    [source('bin/x.js', 'process.exit(1);'), 'process.exit cuts pipes short'],
    [source('src/sandbox/x.ts', 'process.exit(1);'), 'process.exit cuts pipes short'],
    [source('src/events/x.ts', 'const now = Date.now();'), 'only the system knows the clock'],
    [source('src/commands/x.ts', "import ora from 'ora';"), 'heavy libraries are imported when used'],
    [source('test/events/x.test.ts', 'const now = Date.now();'), "a test's time is clock.now()"],
    [source('test/events/x.test.ts', "mkdir('/tmp/x')"), "a test's folders lie in os.tmpdir()"],
    [
      source('src/http/x.ts', "const { Agent } = await import('undici');"),
      'only src/http/undici-agent.ts loads undici',
    ],
    [source('src/events/utils.ts', ''), 'a name without a subject'],
    [source('src/helpers/page.ts', ''), 'a name without a subject'],
  ])('%j breaks one', (file, rule) => {
    expect(violations([file])).toEqual([`${file.path}: ${rule}`]);
  });

  test('no files import each other in a circle, types and dynamic imports included', () => {
    const circle = [
      source('src/http/x.ts', "import { b } from './y.ts';"),
      source('src/http/y.ts', "import type { C } from './z.ts';"),
      source('src/http/z.ts', "const { a } = await import('./x.ts');"),
      source('src/http/w.ts', "import { a } from './x.ts';"),
    ];
    expect(violations(circle)).toEqual([
      'src/http/x.ts: files import each other in a circle: src/http/x.ts → src/http/y.ts → src/http/z.ts → src/http/x.ts',
    ]);
  });

  test.each([
    source(
      'src/commands/x.ts',
      "import { a } from '../events/page.ts';\nconst { b } = await import('open');",
    ),
    // Ends the program at a second signal on Windows.
    source('src/system.ts', 'process.exit(130);'),
    source('src/events/x.ts', '// process.exit is never called here\nconst processed = 1;'),
  ])('%j breaks none', (file) => {
    expect(violations([file])).toEqual([]);
  });
});
