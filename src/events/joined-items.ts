import type { ItemTexts } from './page.ts';

/** Items of several pages as those of one, a comma between each two. */
export function joined(pages: readonly ItemTexts[]): ItemTexts {
  const parts: Buffer[] = [];
  const spans: number[] = [];
  let at = 0;
  for (const page of pages) {
    for (let item = 0; item < page.count; item++) {
      const text = page.bytes.subarray(page.spans[2 * item], page.spans[2 * item + 1]);
      parts.push(text, COMMA);
      spans.push(at, at + text.length);
      at += text.length + 1;
    }
  }
  return { bytes: Buffer.concat(parts), spans: Uint32Array.from(spans), count: spans.length / 2 };
}

const COMMA = Buffer.from(',');
