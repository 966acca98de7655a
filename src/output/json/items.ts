import type { Output } from '../../context.ts';
import type { FieldPath } from '../field-path.ts';
import type { ItemPage, ItemWriter } from '../item-format.ts';
import { terminalSafe } from '../terminal-safe.ts';
import { createPicker } from './pick-fields.ts';

/**
 * JSON output, each item its own bytes (or the `fields` picked from them): one array with an item a line, or with
 * `ndjson` an item a line and nothing else. One write a page, and no text is decoded unless for a terminal.
 */
export function createJsonWriter(
  format: 'json' | 'ndjson',
  fields: readonly FieldPath[] | undefined,
  stdout: Output,
): ItemWriter {
  const pick = fields && createPicker(fields);
  const print = (bytes: Buffer) => stdout.write(stdout.isTerminal ? terminalSafe(bytes.toString()) : bytes);
  if (format === 'ndjson') {
    return {
      write: async (page) => {
        if (page.count > 0) await print(toLines(pick ? pick(page) : page));
      },
      end: async () => {},
      abort: async () => {},
    };
  }
  let opened = false;
  const close = () => stdout.write(opened ? '\n]\n' : '[]\n');
  return {
    write: async (page) => {
      if (page.count === 0) return;
      const text = toElements(pick ? pick(page) : page, opened ? ',\n' : '[\n');
      opened = true;
      await print(text);
    },
    end: close,
    abort: () => close().catch(() => undefined),
  };
}

const NEWLINE = 0x0a;

/**
 * The items, each followed by a line feed, in the page's own memory. Where one byte parts the items (the comma of the
 * service's array), no item moves: only that byte is changed.
 */
export function toLines({ bytes, spans, count }: ItemPage): Buffer {
  const first = spans[0] as number;
  let to = first;
  for (let index = 0; index < count; index++) {
    const start = spans[2 * index] as number;
    const end = spans[2 * index + 1] as number;
    if (start !== to) bytes.copyWithin(to, start, end);
    to += end - start;
    if (to === bytes.length) return Buffer.concat([bytes.subarray(first), Buffer.of(NEWLINE)]);
    bytes[to++] = NEWLINE;
  }
  return bytes.subarray(first, to);
}

/** The items as elements of an array, one a line: `lead`, then the items with a comma and a line feed between. */
function toElements({ bytes, spans, count }: ItemPage, lead: string): Buffer {
  const length = (spans[2 * count - 1] as number) - (spans[0] as number);
  const text = Buffer.allocUnsafe(lead.length + length + count);
  let to = text.write(lead, 'latin1');
  for (let index = 0; index < count; index++) {
    if (index > 0) {
      text[to++] = 0x2c;
      text[to++] = NEWLINE;
    }
    to += bytes.copy(text, to, spans[2 * index] as number, spans[2 * index + 1] as number);
  }
  return text.subarray(0, to);
}
