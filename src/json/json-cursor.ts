import type { FieldPath } from './field-path.ts';
import { stringEnd, valueEnd } from './json-bytes.ts';

/** The start of a field that the item does not have. */
export const MISSING = -1;

/** Finds fields in the text of one item after another, without building any value. */
export interface Cursor {
  /** Reads the item at `at`; it is valid JSON without white space between tokens. */
  read(bytes: Buffer, at: number): void;
  /** The offsets of each field's value in the last item read, in the order of the paths. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** The total bytes of the values found in the last item read. */
  foundLength(): number;
}

/** A step that paths share, with the steps that follow it. */
interface Step {
  readonly name: string;
  readonly bytes: Buffer;
  /** The element it names if the value is an array; -1 if it names none. */
  readonly index: number;
  /** Paths that end here. */
  readonly found: number[];
  readonly next: Step[];
}

/**
 * A cursor for these paths. Of members with the same name the last one counts, as in `JSON.parse`. `onStranger` gets
 * the quoted text of each member name of the item itself that no path starts with.
 */
export function createCursor(
  paths: readonly FieldPath[],
  onStranger?: (bytes: Buffer, start: number, end: number) => void,
): Cursor {
  const root = stepTree(paths);
  const starts = new Int32Array(paths.length);
  const ends = new Int32Array(paths.length);

  const visit = (bytes: Buffer, at: number, step: Step): number => {
    const first = bytes[at];
    let end: number;
    if (step.next.length === 0 || (first !== 0x7b && first !== 0x5b)) end = valueEnd(bytes, at);
    else end = first === 0x7b ? visitObject(bytes, at, step) : visitArray(bytes, at, step);
    for (const path of step.found) {
      starts[path] = at;
      ends[path] = end;
    }
    return end;
  };
  const visitObject = (bytes: Buffer, at: number, step: Step): number => {
    if (bytes[at + 1] === 0x7d) return at + 2;
    let index = at;
    do {
      const nameEnd = stringEnd(bytes, index + 1);
      const next = stepNamed(step.next, bytes, index + 1, nameEnd);
      if (next) {
        forget(next);
        index = visit(bytes, nameEnd + 1, next);
      } else {
        if (step === root) onStranger?.(bytes, index + 1, nameEnd);
        index = valueEnd(bytes, nameEnd + 1);
      }
    } while (bytes[index] === 0x2c);
    return index + 1;
  };
  const visitArray = (bytes: Buffer, at: number, step: Step): number => {
    if (bytes[at + 1] === 0x5d) return at + 2;
    let index = at;
    let element = 0;
    do {
      const next = step.next.find((candidate) => candidate.index === element);
      index = next ? visit(bytes, index + 1, next) : valueEnd(bytes, index + 1);
      element++;
    } while (bytes[index] === 0x2c);
    return index + 1;
  };
  /** Drops the values of an earlier member of the same name. */
  const forget = (step: Step): void => {
    for (const path of step.found) starts[path] = MISSING;
    for (const next of step.next) forget(next);
  };

  return {
    starts,
    ends,
    read: (bytes, at) => {
      starts.fill(MISSING);
      visit(bytes, at, root);
    },
    foundLength: () => {
      let length = 0;
      for (let path = 0; path < starts.length; path++) {
        if (starts[path] !== MISSING) length += (ends[path] as number) - (starts[path] as number);
      }
      return length;
    },
  };
}

function stepTree(paths: readonly FieldPath[]): Step {
  const root: Step = { name: '', bytes: Buffer.alloc(0), index: -1, found: [], next: [] };
  for (const [path, { steps }] of paths.entries()) {
    let step = root;
    for (const name of steps) {
      let next = step.next.find((candidate) => candidate.name === name);
      if (!next) {
        const index = /^(0|[1-9]\d{0,8})$/.test(name) ? Number(name) : -1;
        next = { name, bytes: Buffer.from(name), index, found: [], next: [] };
        step.next.push(next);
      }
      step = next;
    }
    step.found.push(path);
  }
  return root;
}

/** The step that the member name between `start` and `end` (quotes included) takes. */
function stepNamed(steps: readonly Step[], bytes: Buffer, start: number, end: number): Step | undefined {
  // A name with escapes is decoded before it is compared.
  let escaped = false;
  for (let index = start + 1; index < end - 1; index++) {
    if (bytes[index] === 0x5c) {
      escaped = true;
      break;
    }
  }
  if (escaped) {
    const name: unknown = JSON.parse(bytes.toString('utf8', start, end));
    return steps.find((step) => step.name === name);
  }
  for (let candidate = 0; candidate < steps.length; candidate++) {
    const step = steps[candidate] as Step;
    const length = step.bytes.length;
    if (length !== end - start - 2) continue;
    let index = 0;
    while (index < length && bytes[start + 1 + index] === step.bytes[index]) index++;
    if (index === length) return step;
  }
  return undefined;
}
