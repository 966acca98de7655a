import { describe, expect, test } from 'vitest';
import { type EffectValueSource, EffectValues } from '../../src/explain/effect-values.ts';
import { parseFieldPath } from '../../src/items/field-path.ts';
import { FieldReader } from '../../src/items/field-reader.ts';
import { UTC } from '../../src/time/time-zone.ts';

const field = (path: string, only?: readonly string[]) => ({
  path: parseFieldPath(path, '--field'),
  only: only && new Set(only),
});
const own = (path: string, more: { only?: readonly string[]; except?: string } = {}): EffectValueSource => ({
  own: field(path, more.only),
  except: more.except,
  members: [],
});
const ofMembers = (...members: EffectValueSource['members']): EffectValueSource => ({
  own: undefined,
  except: undefined,
  members,
});

/** Returns the values of failures with these texts, and how many have each. */
function counted(source: EffectValueSource, texts: readonly string[]): [unknown, number][] {
  // Another effect's paths come first.
  const reader = new FieldReader([parseFieldPath('other', '--field'), ...EffectValues.pathsOf(source)], UTC);
  const values = new EffectValues(source, 1);
  for (const text of texts) {
    reader.read(Buffer.from(text), 0);
    values.add(reader);
  }
  return values.result().map(({ value, failed }) => [value, failed]);
}
const counts = (source: EffectValueSource, events: readonly object[]) =>
  counted(
    source,
    events.map((event) => JSON.stringify(event)),
  );
const times = <Value>(count: number, of: (index: number) => Value) =>
  Array.from({ length: count }, (_, at) => of(at));

describe("an effect's own values", () => {
  test('are counted, the most frequent first, and no more than five', () => {
    const events = [6, 1, 5, 4, 3, 2].flatMap((count, word) =>
      times(count, () => ({ error: 'abcdef'[word] })),
    );
    expect(counts(own('error'), events)).toEqual([
      ['a', 6],
      ['c', 5],
      ['d', 4],
      ['e', 3],
      ['f', 2],
    ]);
  });

  test('are values of any kind, but for null, objects and long ones', () => {
    const events = [
      { error: 'busy', other: 'x' },
      { error: 503 },
      { error: true },
      { error: null },
      { error: { code: 1 } },
      { error: 'x'.repeat(511) },
      {},
    ];
    expect(counts(own('error'), events)).toEqual([
      ['busy', 1],
      [503, 1],
      [true, 1],
    ]);
    expect(counts(own('error'), [{ error: 'x'.repeat(510) }])).toEqual([['x'.repeat(510), 1]]);
  });

  test('are counted once for each event, whatever their spelling', () => {
    expect(counts(own('errors[].text'), [{ errors: [{ text: 'a' }, {}] }])).toEqual([['a', 1]]);
    expect(counts(own('errors[]'), [{ errors: ['a', 'b', 'a'] }, { errors: ['a'] }])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    expect(
      counted(own('error'), ['{"error":"b\\u0061d"}', '{"error":"bad"}', '{"error":5.0}', '{"error":5}']),
    ).toEqual([
      ['bad', 2],
      [5, 2],
    ]);
  });

  test('leave out the one of a success, and those that were not compared', () => {
    const events = ['ok', 'busy', 'gone', 'gone'].map((error) => ({ error }));
    expect(counts(own('error', { except: '"ok"' }), events)).toEqual([
      ['gone', 2],
      ['busy', 1],
    ]);
    expect(counts(own('error', { only: ['"busy"'] }), events)).toEqual([['busy', 1]]);
  });

  test('count a quoted number as the number, if there is that number', () => {
    expect(counts(own('code'), [{ code: '503' }, { code: 503 }, { code: '503' }])).toEqual([[503, 3]]);
    expect(counts(own('code'), [{ code: '503' }, { code: '503' }])).toEqual([['503', 2]]);
    expect(counted(own('code'), ['{"code":"5.0"}', '{"code":5}'])).toEqual([[5, 2]]);
    expect(counts(own('code'), [{ code: 'true' }, { code: true }])).toEqual([
      ['true', 1],
      [true, 1],
    ]);
    expect(counts(own('code'), [{ code: 'x503' }, { code: 503 }])).toEqual([
      ['x503', 1],
      [503, 1],
    ]);
  });

  test('keep a number exact', () => {
    expect(counted(own('code'), ['{"code":9007199254740993}'])).toEqual([['9007199254740993', 1]]);
  });
});

describe('texts that differ in ids and times', () => {
  test('are joined, if most of them are distinct', () => {
    const events = times(3, (at) => ({ error: `no answer from host-${at} in 5 s` }));
    expect(counts(own('error'), events)).toEqual([['no answer from … in 5 s', 3]]);
    expect(
      counts(
        own('error'),
        times(3, (at) => ({ error: `in ${at} s` })),
      ),
    ).toEqual([['in … s', 3]]);
  });

  test('are joined, whatever their lengths and whatever some have in common', () => {
    const lengths = ['host-1 is down', 'host-22 is down', 'host-333 is down'].map((error) => ({ error }));
    expect(counts(own('error'), lengths)).toEqual([['… is down', 3]]);
    const partly = ['x1 in a1', 'x1 in b2', 'x2 in c3'].map((error) => ({ error }));
    expect(counts(own('error'), partly)).toEqual([['… in …', 3]]);
  });

  test('are shown as they are if there are two of them, or if they are frequent', () => {
    const two = times(2, (at) => ({ error: `host-${at}` }));
    expect(counts(own('error'), two)).toEqual([
      ['host-0', 1],
      ['host-1', 1],
    ]);
    const half = times(6, (at) => ({ error: `host-${at % 3}` }));
    expect(counts(own('error'), half).map(([, failed]) => failed)).toEqual([2, 2, 2]);
    expect(counts(own('error'), half.slice(1))).toEqual([['…', 5]]);
  });

  test('are no numbers', () => {
    expect(
      counts(
        own('code'),
        times(4, (at) => ({ code: at })),
      ).length,
    ).toBe(4);
  });

  test('are not joined with texts of other words', () => {
    const events = [...times(3, (at) => ({ error: `host-${at}` })), { error: 'down' }, { error: 'gone' }];
    expect(counts(own('error'), events)).toEqual([
      ['…', 3],
      ['down', 1],
      ['gone', 1],
    ]);
  });

  test('that are more than anybody counts are not shown', () => {
    const texts = times(100_002, (at) => `{"error":"${at.toString(36)}"}`);
    expect(counted(own('error'), texts)).toEqual([]);
  });
});

describe('the members of an effect', () => {
  const members = ofMembers(field('error.code'), field('error.text'));

  test('are joined in their order', () => {
    expect(
      counts(members, [{ error: { code: 503, text: 'busy' } }, { error: { text: 'busy', code: '503' } }]),
    ).toEqual([['503 busy', 2]]);
  });

  test('that are missing, null, lists or long are left out', () => {
    for (const text of [undefined, null, [1], { a: 1 }, 'x'.repeat(600)])
      expect(counts(members, [{ error: { code: 503, text } }])).toEqual([['503', 1]]);
    expect(counts(members, [{ error: { code: '', text: '' } }, {}])).toEqual([]);
    const long = 'x'.repeat(510);
    expect(counts(members, [{ pad: long, error: { text: long } }])).toEqual([[long, 1]]);
    expect(counts(members, [{ error: { code: '', text: 'busy' } }])).toEqual([[' busy', 1]]);
  });

  test('in a list are those of its first element', () => {
    expect(counts(ofMembers(field('errors[].text')), [{ errors: [{ text: 'a' }, { text: 'b' }] }])).toEqual([
      ['a', 1],
    ]);
    expect(counts(ofMembers(field('errors[].text')), [{ errors: [{ text: null }, { text: 'b' }] }])).toEqual([
      ['b', 1],
    ]);
    expect(counts(ofMembers(field('errors[].text')), [{ errors: [{ text: [1] }, { text: 'b' }] }])).toEqual(
      [],
    );
  });

  test('leave out what was not compared', () => {
    expect(
      counts(ofMembers(field('error.code', ['1']), field('error.text')), [{ error: { code: 2, text: 'a' } }]),
    ).toEqual([['a', 1]]);
  });
});
