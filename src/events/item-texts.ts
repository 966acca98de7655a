import type { ItemPage } from '../output/item-format.ts';

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
