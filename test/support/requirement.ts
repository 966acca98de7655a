import { accessSync, constants } from 'node:fs';

/**
 * Tells whether a test can run that needs a program of this machine. Elsewhere the test is skipped, with a line that
 * says why; where `CI` is set, what is missing is a failure.
 */
export function available(program: string, files: readonly string[]): boolean {
  if (files.some(isExecutable)) return true;
  const missing = `${program} is not on this machine (looked for ${files.join(', ')})`;
  if (process.env['CI']) throw new Error(missing);
  console.warn(`skipped: ${missing}`);
  return false;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
