import type { ItemPage } from './items.ts';

/** The text of each item, in the page's own memory. */
export function textsOf({ bytes, spans, count }: ItemPage): Buffer[] {
  return Array.from({ length: count }, (_, item) => bytes.subarray(spans[2 * item], spans[2 * item + 1]));
}

/** Item texts as a page with memory of its own, which a writer may overwrite. */
export function pageOf(texts: readonly Buffer[]): ItemPage {
  const spans = new Uint32Array(2 * texts.length);
  let at = 0;
  for (const [item, text] of texts.entries()) {
    spans[2 * item] = at;
    spans[2 * item + 1] = at + text.length;
    at += text.length + 1;
  }
  return { bytes: Buffer.concat(texts.flatMap((text) => [text, COMMA])), spans, count: texts.length };
}

const COMMA = Buffer.from(',');

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
