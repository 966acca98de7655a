import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Verdict } from './verdict.ts';

/**
 * Makes a command for a watch, which fails now and then and otherwise writes a line to a log. Returns its
 * path.
 */
export function writeCommand(file: string, line: string): string {
  writeFileSync(file, `#!/bin/sh\n[ $(($$ % 20)) = 0 ] && exit 1\necho "${line}" >> ${file}.log\n`);
  chmodSync(file, 0o755);
  return file;
}

/** The lines that such a command has written. */
export class CommandLog {
  /** The number of lines when the watch was killed. */
  readonly #kills: number[] = [];
  readonly #file: string;

  constructor(command: string) {
    this.#file = `${command}.log`;
  }

  lines(): string[] {
    return existsSync(this.#file) ? readFileSync(this.#file, 'utf8').split('\n').slice(0, -1) : [];
  }

  noteKill(): void {
    this.#kills.push(this.lines().length);
  }

  get kills(): number {
    return this.#kills.length;
  }

  /**
   * True if a line may repeat another: the watch was killed when that was the last one, or was being written.
   */
  mayRepeat(original: number): boolean {
    return this.#kills.some((written) => original === written - 1 || original === written);
  }
}

/** Checks that the watch ran its command for each record, and again only for the one at hand at a kill. */
export function checkRecords(log: CommandLog, expected: readonly string[], verdict: Verdict) {
  const first = new Map<string, number>();
  let repeated = 0;
  for (const [index, line] of log.lines().entries()) {
    const original = first.get(line);
    if (original === undefined) first.set(line, index);
    else {
      repeated++;
      if (!log.mayRepeat(original))
        verdict.violation(`the watch ran its command again for ${line}, which was done before any kill`);
    }
  }
  const wanted = new Set(expected);
  const lost = expected.filter((line) => !first.has(line));
  const foreign = [...first.keys()].filter((line) => !wanted.has(line));
  if (lost.length > 0) verdict.violation(`the watch missed ${lost.length} records: ${lost.slice(0, 5)}`);
  if (foreign.length > 0)
    verdict.violation(`the watch ran its command for ${foreign.length} records that are not stored`);
  if (repeated > log.kills)
    verdict.violation(`the watch repeated ${repeated} records after ${log.kills} kills`);
  return { handled: first.size, repeated };
}

/** Returns the lines without those that equal the one before. */
export function withoutRepeats(lines: readonly string[]): string[] {
  return lines.filter((line, index) => line !== lines[index - 1]);
}

/**
 * Checks that the watch over health reported the changes of each row, in order, and again only after a kill.
 */
export function checkChanges(
  log: CommandLog,
  expected: ReadonlyMap<string, readonly string[]>,
  verdict: Verdict,
) {
  let repeated = 0;
  let reported = 0;
  const numbered = log.lines().map((line, index) => ({ line, index }));
  for (const [row, changes] of expected) {
    const ofRow = numbered.filter(({ line }) => line.endsWith(row));
    for (const [place, { line }] of ofRow.entries()) {
      const before = ofRow[place - 1];
      if (line !== before?.line) continue;
      repeated++;
      if (!log.mayRepeat(before.index)) verdict.violation(`health --watch reported '${line}' again`);
    }
    const found = withoutRepeats(ofRow.map(({ line }) => line));
    reported += found.length;
    if (found.join() !== changes.join())
      verdict.violation(`health --watch reported ${found.join(', ')} in place of ${changes.join(', ')}`);
  }
  return { reported, repeated };
}
