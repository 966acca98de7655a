import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The projects of the test runner. A test belongs to one by what it imports, over any number of files of `test`:
 * - `machine` needs a tool that not every machine has (requirement.ts), or packages from the registry (tarball.ts);
 * - `program` runs commands or the sandbox, in process or as a process, or looks at what was built (build.ts);
 * - `unit` is the rest, and needs no build.
 */
export type Project = 'unit' | 'program' | 'machine';

const test = path.resolve(import.meta.dirname, '..');
const program = /\/(test\/support\/program|src\/(main|sandbox\/sandbox))\.ts$/;
const machine = /\/test\/support\/(requirement|tarball)\.ts$/;

/** The files of a project, relative to the root. */
export function projectFiles(project: Project): string[] {
  const files = readdirSync(test, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => projectOf(path.join(test, file)) === project)
    .map((file) => path.join('test', file).split(path.sep).join('/'));
}

function projectOf(file: string): Project {
  const reached = [...reachedFrom(file, new Set())].map((name) => name.split(path.sep).join('/'));
  if (reached.some((name) => machine.test(name))) return 'machine';
  if (readFileSync(file, 'utf8').includes("inject('program')")) return 'program';
  return reached.some((name) => program.test(name)) ? 'program' : 'unit';
}

/** Returns the files that a file of `test` imports, except types. Imports of `src` are not followed. */
function reachedFrom(file: string, reached: Set<string>): Set<string> {
  if (reached.has(file)) return reached;
  reached.add(file);
  // Some tests contain source code as text, with imports of files that do not exist.
  if (!file.startsWith(test) || !file.endsWith('.ts') || !existsSync(file)) return reached;
  const imports = /^(?:import|export)\s(?!type\s)[^;'"`]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;
  for (const [, named, lazy] of readFileSync(file, 'utf8').matchAll(imports)) {
    reachedFrom(path.resolve(path.dirname(file), named ?? lazy ?? ''), reached);
  }
  return reached;
}
