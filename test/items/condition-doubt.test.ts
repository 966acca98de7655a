import { describe, expect, test } from 'vitest';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { itemFilter } from '../../src/items/item-filter.ts';
import { Items } from '../../src/items/items.ts';

describe('a condition that may be wrong', () => {
  const doubtsOf = (condition: string, ...items: readonly string[]) => {
    const keep = itemFilter([parseCondition(condition, '--where', 0)], []);
    for (const item of items) keep(Items.of([Buffer.from(item)]));
    return keep.doubts().map((doubt) => doubt.replace(/ \(\d events? looked at\)$/, ''));
  };

  test.each([
    [
      'statis = FAILED',
      ['{"status":"FAILED"}'],
      "--where: no event has the field 'statis'; did you mean status?",
    ],
    [
      'lines.sku = A-7',
      ['{"lines":[{"sku":"A-1"},{"sku":"A-7"}]}'],
      "--where: no event has the field 'lines.sku'; did you mean lines[].sku?",
    ],
    ['xyz', ['{"status":"FAILED"}'], "--where: no event has the field 'xyz'"],
    ['!xyz', ['{"status":"FAILED"}'], "--where: no event has the field 'xyz'"],
    ['status > 3', ['{"status":"abc"}'], '--where: no event has a value in status that compares with 3'],
    ['status <= 3', ['{"status":"abc"}'], '--where: no event has a value in status that compares with 3'],
    [
      'status = truex',
      ['{"status":true}'],
      '--where: no event has a value in status that compares with truex',
    ],
    [
      'status = xtrue',
      ['{"status":true}'],
      '--where: no event has a value in status that compares with xtrue',
    ],
    ['b = True', ['{"b":true}'], "--where: no event has 'True' in b; did you mean true?"],
    ['status = true', ['{"status":1}'], '--where: no event has a value in status that compares with true'],
    [
      'status = "true"',
      ['{"status":true}'],
      '--where: no event has a value in status that compares with the text "true"',
    ],
    ['status = null', ['{"a":null}'], "--where: no event has the field 'status'"],
    [
      'status = failed',
      ['{"status":"FAILED"}', '{"status":"Failed"}'],
      "--where: no event has 'failed' in status; did you mean FAILED?",
    ],
    [
      'status = "fAiled"',
      ['{"status":"x"}', '{"status":"FAILED"}'],
      "--where: no event has 'fAiled' in status; did you mean FAILED?",
    ],
    [
      'status > 3',
      ['{"status":true}', '{"status":{}}'],
      '--where: no event has a value in status that compares with 3',
    ],
    [
      'status = 3',
      ['{"status":null}', '{"status":{"id":3}}'],
      '--where: no event has a value in status that compares with 3',
    ],
    ['status > 3', ['{"status":null}'], '--where: no event has a value in status that compares with 3'],
    [
      'who != Umbrella,Acme',
      ['{"who":"Initech"}'],
      "--where: no event has 'Umbrella,Acme' in who; for none of several values write --where 'who not in (Umbrella,Acme)'",
    ],
    [
      'exp < 2026-11',
      ['{"exp":1793491200}', '{"exp":1793491201}'],
      "--where: no event has a value in exp that compares with 2026-11; for Unix seconds write --where 'exp < 1793491200'",
    ],
    [
      'exp < 2026-11',
      ['{"exp":"2026-10-31"}', '{"exp":1793491200000}', '{"exp":null}'],
      "--where: 1 value in exp does not compare with 2026-11, such as 1793491200000; for Unix milliseconds write --where 'exp < 1793491200000'",
    ],
    [
      'exp < 2026-11',
      ['{"exp":"2026-10"}', '{"exp":"10/26"}', '{"exp":"11/26"}'],
      '--where: 2 values in exp do not compare with 2026-11, such as 10/26',
    ],
    [
      'exp < 2026-11 ',
      ['{"exp":1793491200}'],
      "--where: no event has a value in exp that compares with 2026-11; for Unix seconds write --where 'exp < 1793491200'",
    ],
    [
      'status > "a"',
      ['{"status":7}', '{"status":true}'],
      '--where: no event has a value in status that compares with the text "a"',
    ],
  ] as const)('%s is doubted', (condition, items, doubt) =>
    expect(doubtsOf(condition, ...items)).toEqual([doubt]),
  );

  test('names a near text, how many events were looked at, and the form for several values', () => {
    const doubtOf = (condition: string) => {
      const keep = itemFilter([parseCondition(condition, '--where', 0)], []);
      keep(Items.of(['Acme GmbH', 'Globex', 'Initech'].map((name) => Buffer.from(`{"who":"${name}"}`))));
      return keep.doubts();
    };
    expect(doubtOf('who = Acme')).toEqual([
      "--where: no event has 'Acme' in who; did you mean Acme GmbH? (3 events looked at)",
    ]);
    expect(doubtOf('who = Globx')).toEqual([
      "--where: no event has 'Globx' in who; did you mean Globex? (3 events looked at)",
    ]);
    expect(doubtOf('who = Globex,Initech')).toEqual([
      "--where: no event has 'Globex,Initech' in who; for any of several values write --where 'who in (Globex,Initech)' (3 events looked at)",
    ]);
    expect(doubtOf('who = Umbrella')).toEqual([]);
    expect(doubtOf('who in (Umbrella)')).toEqual([]);
    expect(doubtOf('who in (Umbrella, Globex)')).toEqual([]);
    expect(doubtOf('who in (Globx)')).toEqual([
      "--where: no event has 'Globx' in who; did you mean Globex? (3 events looked at)",
    ]);
    expect(doubtOf('who in (Umbrella, acme, Globx)')).toEqual([
      '--where: no event has any of the 3 values in who; did you mean Acme GmbH? (3 events looked at)',
    ]);
    expect(doubtOf('who in (Umbrella, GLOBEX)')).toEqual([
      '--where: no event has any of the 2 values in who; did you mean Globex? (3 events looked at)',
    ]);
    const many = Array.from({ length: 20 }, (_, index) => `Umbrella ${index}`).join(', ');
    expect(doubtOf(`who in (${many}, Globx)`)).toEqual([]);
  });

  test('a number, or a text of one or two characters, is near too many others', () => {
    const texts = ['{"who":"Acme GmbH"}', '{"who":"51234"}'];
    expect(doubtsOf('who = Ac', ...texts)).toEqual([]);
    expect(doubtsOf('who = 123', ...texts)).toEqual([]);
    expect(doubtsOf('who = Acm', ...texts)).toEqual([
      "--where: no event has 'Acm' in who; did you mean Acme GmbH?",
    ]);
    expect(doubtsOf('who = "123"', ...texts)).toEqual([
      "--where: no event has '123' in who; did you mean 51234?",
    ]);
  });

  test('a near text is looked for among a thousand that are no longer than a hundred characters', () => {
    const doubtOfNear = (near: string, others: number) => {
      const texts = Array.from({ length: others }, (_, index) => `customer ${index}`);
      const items = [...texts, near].map((who) => Buffer.from(`{"who":"${who}"}`));
      const keep = itemFilter([parseCondition('who = Acme', '--where', 0)], []);
      keep(Items.of(items));
      return keep.doubts().length;
    };
    expect([doubtOfNear('Acme GmbH', 999), doubtOfNear('Acme GmbH', 1000)]).toEqual([1, 0]);
    expect([doubtOfNear('Acme'.padEnd(100, '.'), 1), doubtOfNear('Acme'.padEnd(101, '.'), 1)]).toEqual([
      1, 0,
    ]);
  });

  test('is not doubted if an event that another condition excludes has the value', () => {
    const conditions = ['plan = gold', 'who = Acme'].map((text) => parseCondition(text, '--where', 0));
    const keep = itemFilter(conditions, []);
    expect(
      keep(Items.of(['{"plan":"gold"}', '{"plan":"free","who":"Acme"}'].map((text) => Buffer.from(text))))
        .count,
    ).toBe(0);
    expect(keep.doubts()).toEqual([]);
  });

  test('is doubted by the first events that there are', () => {
    const keep = itemFilter([parseCondition('statis = FAILED', '--where', 0)], []);
    keep(Items.of([]));
    keep(Items.of([Buffer.from('{"status":"x"}')]));
    expect(keep.doubts()).toEqual([
      "--where: no event has the field 'statis'; did you mean status? (1 event looked at)",
    ]);
  });

  test.each([
    ['status = FAILED', ['{"status":"x"}', '{"status":"FAILED"}', '{"status":"failed"}']],
    ['status = FAILED', ['{"status":"SUCCESS"}']],
    ['status != failed', ['{"status":"x"}']],
    ['status > 3', ['{"status":true}', '{"status":2}']],
    ['status > 3', ['{"status":"2"}']],
    ['status > "a"', ['{"status":"b"}', '{"status":7}']],
    ['exp < 2026-11', ['{"exp":"2026-10"}', '{"exp":null}']],
    ['status', ['{"status":null}', '{"status":1}']],
    ['!status', ['{"status":1}']],
    ['status ~ ail', ['{"status":"x"}']],
    ['status = true', ['{"status":false}']],
    ['status = x', ['{"status":null}']],
    ['status = null', ['{"status":null}']],
    ['status = null', ['{"status":null}', '{"status":{}}']],
    ['who = Acme', ['{"who":"Acme GmbH"}', '{"who":"Acme"}']],
    ['status = 2', ['{"status":123}']],
    ['status = x', []],
  ] as const)('%s is not', (condition, items) => expect(doubtsOf(condition, ...items)).toEqual([]));
});
