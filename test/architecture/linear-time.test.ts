import { expect, test } from 'vitest';
import { expressionsIn, isSlow } from './linear-time.ts';
import { readSources } from './sources.ts';

test.each([
  /<title[^>]*>([^<]*)<\/title>/i,
  /^a.*b.*c$/,
  /(?:a+)+b/,
  /(?:a|a)*b/,
  /\s+$/,
  /[\w.:-]*\d[\w.:-]*/,
  /^\d*\.?\d+$/,
  /\( *\*? *\)/,
])('%s is slow', (expression) => {
  expect(isSlow(expression)).toBe(true);
});

test.each([
  /\s+/,
  /^\s+/,
  /"(?:[^"\\]|\\.)*"/y,
  /^[a-f-]*\d[0-9a-f-]*$/,
  /(?:%[0-9a-f]{2})+/,
  /^(\d+)(\D+)$/,
  /a{2,30}b/,
])('%s is not', (expression) => {
  expect(isSlow(expression)).toBe(false);
});

/**
 * The slow expressions of a file that may stay: those that meet no text of others, those whose text has their
 * form already, and those that a lookahead or another alternative keeps from trying again. This list only
 * gets shorter.
 */
const MAY_BE_SLOW: Readonly<Record<string, readonly [count: number, because: string]>> = {
  'src/cli/command-description.ts': [1, 'the flags of our own commands'],
  'src/cli/corrections.ts': [1, 'our own examples'],
  'src/cli/operand-corrections.ts': [1, 'a word of the command line'],
  'src/errors.ts': [2, "the system's own messages"],
  'src/formats/json.ts': [1, 'JSON that was checked'],
  'src/http/redaction.ts': [1, 'base64 that we have made'],
  'src/http/transport.ts': [1, "the messages of Node's parser"],
  'src/items/field-path.ts': [1, 'a path of the command line'],
  'src/items/item-conditions.ts': [
    2,
    'a condition of the command line, in which what follows always matches',
  ],
  'src/items/guids.ts': [1, 'a text of limited length'],
  'src/items/near-field.ts': [1, 'a path of the command line'],
  'src/mcp/mcp-answers.ts': [1, 'JSON that was checked'],
  'src/questions/grouped-values.ts': [1, 'JSON that was checked'],
  'src/report/report-page.ts': [2, 'our own page'],
  'src/secrets/dbus.ts': [2, 'an address of the environment, and the types of an answer'],
  'src/secrets/keychain.ts': [1, 'the messages of a library'],
  'src/settings/setting-names.ts': [2, 'an address of the command line or the settings'],
  'src/terminal/terminal-text.ts': [1, 'its last alternatives take what the others leave'],
  'src/time/span-text.ts': [1, 'a span that has the form already'],
};

test('no expression that backtracks meets the text of others', async () => {
  const sources = (await readSources()).filter(({ path: file }) => /^src\/(?!sandbox)/.test(file));
  let found = 0;
  const wrong = sources.flatMap(({ path: file, text }) => {
    const all = expressionsIn(text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, ''));
    found += all.length;
    const slow = all.filter(isSlow);
    const [most] = MAY_BE_SLOW[file] ?? [0];
    return slow.length > most ? slow.map((expression) => `${file}: ${expression}`) : [];
  });
  expect(found).toBeGreaterThan(300);
  expect(wrong).toEqual([]);
});
