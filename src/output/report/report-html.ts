import { terminalSafe, unicodeEscape } from '../../terminal/terminal-safe.ts';

/** Text that is HTML already. All other text is escaped when it is put into a page. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

type Part = Html | string | number | readonly Html[];

/** An HTML template. Parts are escaped unless they are `Html`. Attribute values must be in double quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + rendered(parts[index - 1] as Part) + string),
  );
}

function rendered(part: Part): string {
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(({ text }) => text).join('') : escaped(String(part));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML, between tags or in a quoted attribute. Control and bidirectional characters become visible escapes. */
export function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** Makes control and bidirectional characters visible, and lone surrogates, which UTF-8 cannot hold. */
export function visible(text: string): string {
  return terminalSafe(text).replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    unicodeEscape,
  );
}

/** Returns the text, cut to `length` characters with an ellipsis if it is longer. */
export function shortened(text: string, length: number): string {
  const characters = Array.from(text.slice(0, 2 * length + 2));
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}
