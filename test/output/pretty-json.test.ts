import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { prettyJson } from '../../src/output/json.ts';
import { type Palette, plain } from '../../src/terminal/palette.ts';

const pretty = (json: string, palette: Palette = plain) => {
  const bytes = Buffer.from(json);
  return prettyJson(bytes, 0, bytes.length, palette);
};

describe('pretty JSON', () => {
  test('has one member per line and keeps every token unchanged', () => {
    const json =
      '{"n":9007199254740993,"d":1.10,"e":[1e400,-0,{}],"b":1,"b":[],"s":"\\u00e9 {,}\\"","z":null}';
    expect(pretty(json)).toBe(
      [
        '{',
        '  "n": 9007199254740993,',
        '  "d": 1.10,',
        '  "e": [',
        '    1e400,',
        '    -0,',
        '    {}',
        '  ],',
        '  "b": 1,',
        '  "b": [],',
        '  "s": "\\u00e9 {,}\\"",',
        '  "z": null',
        '}',
      ].join('\n'),
    );
  });

  test('looks like the output of JSON.stringify, for every value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: fc.stringMatching(/^[ -~à-ÿ]$/) }), (value) => {
        const json = JSON.stringify(value);
        expect(pretty(json)).toBe(JSON.stringify(JSON.parse(json), undefined, 2));
      }),
    );
  });

  test('characters that act on a terminal become escapes that mean the same', () => {
    const json = '{"a\u009b":"\u007f\u202e\u200f"}';
    expect(pretty(json)).toBe('{\n  "a\\u009b": "\\u007f\\u202e\\u200f"\n}');
    expect(JSON.parse(pretty(json))).toEqual(JSON.parse(json));
  });

  test('a hostile depth neither overflows nor explodes', () => {
    const depth = 20_000;
    expect(pretty('['.repeat(depth) + ']'.repeat(depth)).length).toBeLessThan(200 * depth);
  });

  test('a status has the colour of its meaning', () => {
    const marked: Palette = { ...plain, bad: (text) => `<${text}>`, accent: (text) => `_${text}_` };
    expect(pretty('{"publishStatus":"FAILED"}', marked)).toBe('{\n  _"publishStatus"_: <"FAILED">\n}');
  });
});
