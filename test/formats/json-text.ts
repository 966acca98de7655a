import fc from 'fast-check';

/** Numbers that change if they are parsed as doubles. */
const numbers = ['0', '-0', '1.10', '-1.5', '9007199254740993', '1e400', '2E-7', '12345678901234567890.5'];
const names = ['a', 'b', 'c.d', '0', '1', '', 'ä', '__proto__', 'quote"', 'back\\slash', '\u202e', '👩‍👧'];

/** A string's JSON text, with each character unescaped or escaped. */
function stringText(text: string): fc.Arbitrary<string> {
  return fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map(
      (escapes) => `"${[...escapes].map((escaped, index) => characterText(text[index]!, escaped)).join('')}"`,
    );
}

function characterText(unit: string, escaped: boolean): string {
  const code = unit.charCodeAt(0);
  const surrogate = code >= 0xd800 && code <= 0xdfff;
  if (escaped || surrogate || code < 0x20) return `\\u${code.toString(16).padStart(4, '0')}`;
  return unit === '"' || unit === '\\' ? `\\${unit}` : unit;
}

const { value } = fc.letrec<{ value: string; scalar: string; array: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, tie('scalar'), tie('array'), tie('object')),
  scalar: fc.oneof(
    fc.constantFrom('null', 'true', 'false', ...numbers),
    fc.string({ unit: 'binary' }).chain(stringText),
    fc
      .constantFrom('=1+1', '-1', '\u001b[31m', '\u009b', 'a,b', 'two\nlines', 'e\u0301', '田中', 'مرحبا')
      .chain(stringText),
  ),
  array: fc.array(tie('value'), { maxLength: 4 }).map((list) => `[${list.join(',')}]`),
  object: fc
    .array(fc.tuple(fc.constantFrom(...names).chain(stringText), tie('value')), { maxLength: 6 })
    .map((members) => `{${members.map(([name, text]) => `${name}:${text}`).join(',')}}`),
}));

/**
 * Any JSON value's text without white space between tokens, including duplicate names, needless escapes and
 * exact numbers.
 */
export const jsonText = value;
/** The names in the objects of `jsonText`. */
export const jsonNames = names;
