import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conditionOn, conditionText } from '../../src/items/condition-text.ts';
import { parseFieldPath } from '../../src/items/field-path.ts';
import {
  isMembership,
  type Operator,
  parseCondition,
  refuseFileOfValues,
} from '../../src/items/item-conditions.ts';
import { itemFilter } from '../../src/items/item-filter.ts';
import { Items } from '../../src/items/items.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { sampleSize } from '../support/seed.ts';

const keeps = (item: string, conditions: readonly string[], texts: readonly string[] = []) => {
  const keep = itemFilter(
    conditions.map((text) => parseCondition(text, '--where', Date.parse('2026-11-20T12:00:00Z'))),
    texts,
  );
  return keep(Items.of([Buffer.from(item)])).count === 1;
};

const EVENT =
  '{"eventId":"a-1","publishStatus":"FAILED","createdOn":"2026-11-20T10:00:00.1234567Z","attempts":3,"big":9007199254740993,' +
  '"amount":{"value":1.10,"currency":"EUR"},"tags":["x","y\\u00e9"],"error":null,"note":"5","a.b":true,"huge":1e400}';

test('texts are found whether their letters are composed or not', () => {
  for (const [typed, stored] of [
    ['CAF\u00c9', 'cafe\u0301'],
    ['Cafe\u0301', 'caf\u00e9'],
  ]) {
    for (const text of [
      stored,
      stored?.replace(/[^a-z]/, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ]) {
      const item = `{"note":"au ${text}"}`;
      expect([typed, item, keeps(item, [`note ~ "${typed}"`]), keeps(item, [], [typed as string])]).toEqual([
        typed,
        item,
        true,
        true,
      ]);
    }
  }
});

const EXAMPLES =
  "write it as in --where 'eventData.body.pages > 20', --where 'eventType ~ signed' or --where '!eventData.partition'";

describe('--where', () => {
  test.each([
    'publishStatus = FAILED',
    'publishStatus=FAILED',
    'publishStatus != SUCCESS',
    'publishStatus = "FAILED"',
    'attempts >= 3',
    'attempts = 3.0',
    'attempts < 10',
    'attempts <= 3',
    'attempts <= 3.5',
    'big = 9007199254740993',
    'big > 9007199254740992',
    'big != 9007199254740992',
    'amount.value = 1.1',
    'amount.currency ~ eu',
    'tags.1 = yé',
    'tags ~ "x"',
    'error = null',
    'missing = null',
    'missing != x',
    'note = 5',
    'note = "5"',
    'note < 10',
    'a\\.b = true',
    'huge > 1e399',
    'huge < 1e401',
    'createdOn > 2026-11-20T10:00:00.1234566Z',
    'createdOn = 2026-11-20T11:00:00.1234567+01:00',
    'createdOn >= 2026-11-20',
    'createdOn < 2026-11-20 10:01',
    'createdOn < 11-20 10:00:01Z',
    'createdOn > 3h',
    'createdOn > today',
    'createdOn < 10:30',
    'eventId > "a-0"',
    'attempts',
    '!missing',
    '! error',
    "publishStatus = 'FAILED'",
    'note = "5"',
    'eventId ~ A-1',
  ])('%s holds', (condition) => expect(keeps(EVENT, [condition])).toBe(true));

  test.each([
    'publishStatus = failed',
    'publishStatus = SUCCESS',
    'attempts > 3',
    'attempts != 3',
    'publishStatus != FAILED',
    'attempts <= 2',
    'attempts = "3"',
    'note > 2026-11-20',
    'publishStatus > 2026-11-20',
    '!attempts',
    'missing',
    'error',
    'note > "6"',
    'publishStatus > 3',
    'big = 9007199254740992',
    'error > 0',
    'error ~ null',
    'missing < 1',
    'missing = x',
    'error = "null"',
    'amount.currency ~ usd',
    'createdOn < 2026-11-20T10:00:00.1234567Z',
    'createdOn >= 2026-11-20 10:01',
    'createdOn > 1h',
    'createdOn < yesterday',
    'tags.7 = x',
  ])('%s does not hold', (condition) => expect(keeps(EVENT, [condition])).toBe(false));

  test('each event is held against each condition', () => {
    const items = Items.of(['{"a":3}', '{"a":4}', '{"a":3}', '{"b":3}'].map((text) => Buffer.from(text)));
    for (const [condition, kept] of [
      ['a = 3', '{"a":3} {"a":3}'],
      ['a != 3', '{"a":4} {"b":3}'],
      ['a', '{"a":3} {"a":4} {"a":3}'],
      ['!a', '{"b":3}'],
      ['a > 3', '{"a":4}'],
    ] as const) {
      const keep = itemFilter([parseCondition(condition, '--where', 0)], []);
      expect([condition, keep(items).texts().join(' ')]).toEqual([condition, kept]);
    }
  });

  test.each([
    ['= 20261120', false],
    ['!= 20261120', true],
    ['< 20261121', true],
    ['= 2026-11-20', true],
  ])('of a text with a date, %s is %s: equal to a number is that number alone', (condition, expected) =>
    expect(keeps('{"day":"2026-11-20"}', [`day ${condition}`])).toBe(expected),
  );

  test('all have to hold', () => {
    expect(keeps(EVENT, ['attempts = 3', 'note = 5'])).toBe(true);
    expect(keeps(EVENT, ['attempts = 3', 'note = 6'])).toBe(false);
  });

  test.each([
    ['', 'it is empty'],
    ['  ', 'it is empty'],
    ['= 3', 'it names no field'],
    ['! ', 'it names no field'],
    ['a = {x && b', '&& cannot join conditions in one --where'],
    ['a = [1 and b = c', 'and cannot join conditions in one --where'],
    ['!', 'it names no field'],
    ['a\\', "'a\\' ends in a lone backslash"],
    ['!a\\', "'a\\' ends in a lone backslash"],
    ['!a = 3', "'!' goes before a lone field, or before '=' in a comparison"],
    ['a > 3 && b = c', '&& cannot join conditions in one --where'],
    ['a>3&&b=c', '&& cannot join conditions in one --where'],
    ['a || b', '|| cannot join conditions in one --where'],
    ['a > 3 and b = c', 'and cannot join conditions in one --where'],
    ['a = x AND !b', 'AND cannot join conditions in one --where'],
    ['a or b = c', 'or cannot join conditions in one --where'],
    ['attempts > three', "'three' is neither a number nor a time, so nothing is greater"],
    ['attempts <=', 'nothing is neither a number nor a time, so nothing is less'],
    ['createdOn < banana', "'banana' is neither a number nor a time, so nothing is less"],
    ['createdOn = banana', "'banana' is not a time"],
    ['a!b', "'!' goes before a lone field, or before '=' in a comparison"],
    ['a == 3', "'==' is not an operator; put a value that begins with = in quotes"],
    ['a =~ b', "'=~' is not an operator; put a value that begins with ~ in quotes"],
    ['actor contains anna', "'contains' is not an operator"],
    ['actor  contains  anna', "'contains' is not an operator"],
    ['actor exists', "'exists' is not an operator"],
    ['actor exists  ', "'exists' is not an operator"],
    ['type IN a', "'IN' takes its values in ( )"],
    ['type in (a', "'in' takes its values in ( )"],
    ['type in ()', 'in needs a value'],
    ['type in ( )', 'in needs a value'],
    ['type in (a) and b = c', 'and cannot join conditions in one --where'],
    ['createdOn:weekday < Friday', 'weekdays have no order'],
    ['type in (a,,b)', 'the values in ( ) are parted by commas'],
    ['type in (a, "b)', 'the values in ( ) are parted by commas'],
    ['delivery.lastError is null', "'is' is not an operator"],
    ['a..b = 3', "a part of 'a..b' is empty"],
    ['a = "\\x"', 'the text in quotes is not a JSON string'],
  ])("'%s' is a usage error", (text, why) => {
    expect(() => parseCondition(text, '--where', Date.parse('2026-11-20T12:00:00Z'))).toThrow(why);
    expect(() => parseCondition(text, '--where', Date.parse('2026-11-20T12:00:00Z'))).toThrow(
      /^--where: invalid value '/,
    );
  });

  test.each([
    ['', EXAMPLES],
    ['a > 3 && b = c', "give each a flag of its own: --where 'a > 3' --where 'b = c'"],
    ['a > 3 && b = c &&', "give each a flag of its own: --where 'a > 3' --where 'b = c'"],
    ['a = 1 or b = c', 'several --where must all hold; for either of them run the command once for each'],
    ['a || b', 'several --where must all hold; for either of them run the command once for each'],
    [
      'attempts > three',
      "compare with a number or a time, as in --where 'eventData.body.pages > 20' or --where 'createdOn < 2h'; a value in quotes compares as text",
    ],
    ['createdOn = banana', "write a time as for --since, as in --where 'createdOn < 2026-11-20 08:30'"],
    ['a == 3', "write --where 'a = 3'"],
    ['a === 3', "write --where 'a = 3'"],
    ['a===3', "write --where 'a=3'"],
    ['a!==3', "write --where 'a!=3'"],
    ['a !== 3', "write --where 'a != 3'"],
    ['a =~ b', EXAMPLES],
    ['type in a', "write --where 'type in (a)'"],
    ['type IN  a, "b, c" ', `write --where 'type in (a, "b, c")'`],
    ['type in (a, b', "write --where 'type in (a, b)'"],
    ['type in  (a, b', "write --where 'type in (a, b)'"],
    ['card holder in a', "write --where 'card holder in (a)'"],
    ['!email in a, b', "write --where 'email not in (a, b)'"],
    ['not email in a', "write --where 'email not in (a)'"],
    ['email not in a', "write --where 'email not in (a)'"],
    ['type in a,,b', "write it as in --where 'FIELD in (a, b)'"],
    [String.raw`opted\ in in a`, String.raw`write --where 'opted\ in in (a)'`],
    ['a = =cmd', `write --where 'a = "=cmd"'`],
    ['a = <b>"x"</b> ', String.raw`write --where 'a = "<b>\"x\"</b>"'`],
    ['type in ()', "write it as in --where 'FIELD in (a, b)'"],
    ['type in (a,,b)', EXAMPLES],
    ['createdOn:weekday < Friday', "name them: --where 'createdOn:weekday in (Saturday, Sunday)'"],
  ])("the error for '%s' tells what to do: %s", (text, next) => {
    expect(() => parseCondition(text, '--where', 0)).toThrow(
      expect.objectContaining({
        next,
        details: [
          'a condition is FIELD OP VALUE, where OP is one of != <= >= = < > ~; FIELD in (a, b); FIELD not in (a, b); FIELD; or !FIELD',
        ],
      }),
    );
  });

  test.each([
    ['email != @by-hand.txt', "'!=' does not read a file", 'email not in @by-hand.txt'],
    ['email = @by-hand.txt ', "'=' does not read a file", 'email in @by-hand.txt'],
    ['!email in @by-hand.txt', "a list is negated by 'not in'", 'email not in @by-hand.txt'],
    [' not  email in (a, b)', "a list is negated by 'not in'", 'email not in (a, b)'],
    ['! email not in (a)', "a list is negated by 'not in'", 'email in (a)'],
  ])("'%s' is refused: %s, but %s", (typed, why, meant) => {
    expect(() => parseCondition(typed, '--where', 0)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(why),
        next: `write --where '${meant}'`,
        correction: { typed, meant },
      }),
    );
  });

  test.each([
    ['  a = 3 ', 'a', '=', '3', false],
    ['a = bo@harbour.example', 'a', '=', 'bo@harbour.example', false],
    ['a = @ home', 'a', '=', '@ home', false],
    ['a ~ @harbour', 'a', '~', '@harbour', false],
    ['a=b=c', 'a', '=', 'b=c', false],
    ['a!=b', 'a', '!=', 'b', false],
    ['!a', 'a', 'missing', '', false],
    ['a', 'a', 'exists', '', false],
    ['exists', 'exists', 'exists', '', false],
    ['card exists twice', 'card exists twice', 'exists', '', false],
    ['card preexists', 'card preexists', 'exists', '', false],
    ['card existsx', 'card existsx', 'exists', '', false],
    ['card within x', 'card within x', 'exists', '', false],
    ['card inside x', 'card inside x', 'exists', '', false],
    ['opted\\ in x', 'opted in x', 'exists', '', false],
    ['a = b in (c)', 'a', '=', 'b in (c)', false],
    ['a  in (b)', 'a', 'in', '', false],
    ['a in(b)', 'a', 'in', '', false],
    ['a in (b) ', 'a', 'in', '', false],
    ['a not  in (b)', 'a', 'not in', '', false],
    ['card not valid in (b)', 'card not valid', 'in', '', false],
    ['cannot be in (b)', 'cannot be', 'in', '', false],
    ['opted\\ not in (b)', 'opted not', 'in', '', false],
    ['card holder in (b)', 'card holder', 'in', '', false],
    ['opted\\ in in (b)', 'opted in', 'in', '', false],
    ['a\\=b in (c)', 'a=b', 'in', '', false],
    ["a = 'it is'", 'a', '=', 'it is', true],
    ["a = 'it''s'", 'a', '=', "'it''s'", false],
    ['a = "b"c', 'a', '=', '"b"c', false],
    ['a = c"b"', 'a', '=', 'c"b"', false],
    ['a = "\\u0041\\n"', 'a', '=', 'A\n', true],
    ['a = "b\\"c"', 'a', '=', 'b"c', true],
    ['a = candor and b', 'a', '=', 'candor and b', false],
    ['a = x or !b', undefined],
    ['candor = 3', 'candor', '=', '3', false],
    ['and = 3', 'and', '=', '3', false],
    ['a\\ and\\ b = 3', 'a and b', '=', '3', false],
    ['a = 5 > 3', 'a', '=', '5 > 3', false],
    ['a = x and wow!', 'a', '=', 'x and wow!', false],
    ['a = {"b":"x && y"}', 'a', '=', '{"b":"x && y"}', false],
    ['a = ["x and y = z"]', 'a', '=', '["x and y = z"]', false],
    ['createdOn.x = b', 'createdOn/x', '=', 'b', false],
    ['a = "x && y = 3"', 'a', '=', 'x && y = 3', true],
  ] as const)('%s is read as it is meant', (text, field, ...rest) => {
    const read = () => {
      const condition = parseCondition(text, '--where', 0);
      return [condition.field.steps.join('/'), condition.operator, condition.value, condition.quoted];
    };
    if (field === undefined) expect(read).toThrow(/^--where: invalid value/);
    else expect(read()).toEqual([field, ...rest]);
    if (field !== undefined) expect(parseCondition(text, '--where', 0).text).toBe(text);
  });

  test('a creation time may be null, contain a text, or be compared with a time in the zone', () => {
    const event = '{"createdOn":"2026-11-20T10:00:00Z","a":{"createdOn":"x"}}';
    expect(keeps(event, ['createdOn != null', 'createdOn ~ T10:', 'a.createdOn = x'])).toBe(true);
    const berlin = parseCondition(
      'createdOn = 2026-11-20 11:00',
      '--where',
      0,
      new TimeZone('Europe/Berlin'),
    );
    expect(itemFilter([berlin], [])(Items.of([Buffer.from(event)])).count).toBe(1);
    expect(parseCondition('a = "2026-11-20"', '--where', 0).instant).toBeUndefined();
    expect(parseCondition('a > 2026-11-20', '--where', 0).instant?.text).toBe('2026-11-20');
  });

  test('a time without an offset in the payload is in the zone, any other is an instant', () => {
    const zone = new TimeZone('Europe/Berlin');
    const equal = ['2026-11-20T11:00:00', '2026-11-20T10:00:00Z', '2026-11-20T05:00:00-05:00'];
    // The clock skips this time, which counts as the instant of the jump.
    const skipped = ['2026-03-29T02:30:00', '2026-03-29T01:00:00Z'];
    const others = ['2026-11-20T10:00:00', '2026-11-20T11:00:00Z', '2026-03-29T03:00:00'];
    const items = [...equal, ...skipped, ...others].map((at) => Buffer.from(JSON.stringify({ at })));
    const keptBy = (condition: string) => {
      const keep = itemFilter([parseCondition(condition, '--where', 0, zone)], [], zone);
      return keep(Items.of(items))
        .texts()
        .map((text) => JSON.parse(text.toString()).at);
    };
    expect(keptBy('at = 2026-11-20 11:00')).toEqual(equal);
    expect(keptBy('at = 2026-11-20T10:00:00Z')).toEqual(equal);
    expect(keptBy('at = 2026-03-29 02:30')).toEqual(skipped);
  });

  test('equality without case holds in any case, and not for null', () => {
    const keptBy = (operator: Operator, value: string) => {
      const exact = conditionOn(parseFieldPath('a', '--where'), operator, JSON.stringify(value));
      const items = ['{"a":"Paid"}', '{"a":"PAID"}', '{"a":"unpaid"}', '{"a":null}', '{}'];
      const keep = itemFilter([{ ...exact, ignoresCase: true }], []);
      return keep(Items.of(items.map((item) => Buffer.from(item))))
        .texts()
        .map(String);
    };
    expect(keptBy('=', 'pAid')).toEqual(['{"a":"Paid"}', '{"a":"PAID"}']);
    expect(keptBy('!=', 'pAid')).toEqual(['{"a":"unpaid"}', '{"a":null}', '{}']);
    expect(keptBy('=', 'null')).toEqual([]);
  });

  test.each([
    ['a', '=', 'b', 'a = b'],
    ['a', '=', 'Ärzte 3 ./_:@-', 'a = Ärzte 3 ./_:@-'],
    ['a', '~', 'b c', 'a ~ b c'],
    ['a', '=', 'b ', 'a = "b "'],
    ['a', '=', '-b', 'a = "-b"'],
    ['a', '=', 'b,c', 'a = "b,c"'],
    ['a', '=', 'b and c', 'a = "b and c"'],
    ['a', '=', 'b Or c', 'a = "b Or c"'],
    ['a', '=', 'band c', 'a = band c'],
    ['a', '=', '12', 'a = "12"'],
    ['a', '=', 'null', 'a = "null"'],
    ['a', '=', 'true', 'a = "true"'],
    ['a', '=', 'false', 'a = "false"'],
    ['a', '=', 'xnull', 'a = xnull'],
    ['a', '=', 'nullx', 'a = nullx'],
    ['a', '=', 'today', 'a = "today"'],
    ['a', '=', '', 'a = ""'],
    ['a', 'exists', 'b', 'a'],
    ['a', 'missing', 'b', '!a'],
  ] as const)('the condition %s %s %s is written %s', (name, operator, value, text) =>
    expect(conditionText({ text: '', steps: [name] }, operator, value)).toBe(text),
  );

  test('a number or a literal is written as it is', () => {
    const written = (value: string) => conditionText({ text: '', steps: ['a'] }, '=', value, false);
    expect([written('1.50'), written('true'), written('null')]).toEqual(['a = 1.50', 'a = true', 'a = null']);
    expect(conditionText({ text: '', steps: ['a'] }, '=')).toBe('a = ""');
  });

  test('a condition on a value in JSON means that value', () => {
    const on = (...given: [Operator, string?]) => {
      const { operator, value, quoted, text } = conditionOn(parseFieldPath('a', '--where'), ...given);
      return [operator, value, quoted, text];
    };
    expect(on('=', '"b \\u0041"')).toEqual(['=', 'b A', true, 'a = b A']);
    expect(on('<', '12')).toEqual(['<', '12', false, 'a < 12']);
    expect(on('missing')).toEqual(['missing', '', false, '!a']);
  });

  test('texts with `and` or `or` that join no conditions are texts', () => {
    const item = '{"name":"Smith and Sons","note":"this or that","rule":"a && b","rules":["a && b or c=d"]}';
    expect(keeps(item, ['rules = ["a && b or c=d"]'])).toBe(true);
    expect(keeps(item, ['name = Smith and Sons', 'note ~ this or that', 'rule = "a && b"'])).toBe(true);
  });

  test('a text that was made of a condition is read as the same condition', () => {
    const name = fc.string({ minLength: 1, unit: 'grapheme' });
    const value = fc.string({ unit: 'grapheme' });
    const operator = fc.constantFrom(
      '=',
      '!=',
      '~',
      'exists',
      'missing',
      '<',
      '>=',
    ) as fc.Arbitrary<Operator>;
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 3 }), operator, value, (steps, op, text) => {
        fc.pre(!(steps.length === 1 && steps[0] === 'createdOn'));
        const isOrder = /^[<>]/.test(op);
        const said = isOrder
          ? conditionText({ text: '', steps }, op, '-1.5e3', false)
          : conditionText({ text: '', steps }, op, text);
        const { field, operator: read, value: wanted } = parseCondition(said, '--where', 0);
        expect([field.steps, read]).toEqual([steps, op]);
        expect(wanted).toBe(op === 'exists' || op === 'missing' ? '' : isOrder ? '-1.5e3' : text);
      }),
      { numRuns: sampleSize(200, 2000) },
    );
  });
});

describe('--grep', () => {
  const found = (text: string, item = EVENT) => keeps(item, [], [text]);

  test('finds a text in values and names, ignoring case', () => {
    for (const text of ['failed', 'CURRENCY', 'Eur', 'YÉ', '9007199254740993', 'true', 'null', '1.10', 'a.b'])
      expect([text, found(text)]).toEqual([text, true]);
  });

  test('finds nothing across values, and matches decoded escapes', () => {
    for (const text of ['"', 'FAILED","', 'a-1","publish', '{', '\\u00e9', 'x","y', 'missing'])
      expect([text, found(text)]).toEqual([text, false]);
  });

  test('finds texts with brackets, commas and quotes inside a value or a name', () => {
    const item = '{"a{b":"x, [y]: \\"z\\"","c":["d",{"e":12.5}],"f":[true,null],"g":"\\u00C9t\\u00e9"}';
    for (const text of ['a{b', 'x, [', '[y]:', '"z"', 'Été', 'é', '2.5', 'TRUE', 'ull', 'g'])
      expect([text, found(text, item)]).toEqual([text, true]);
    for (const text of ['a{b"', '","c', 'c":[', 'd",{', '12.5}', 'true,null', '\\', '{"a', 'u00e9', '"g'])
      expect([text, found(text, item)]).toEqual([text, false]);
    const plain = '{"a":"b","c":[1,[2]],"d:e":{}}';
    for (const [text, isThere] of [
      ['d:e', true],
      ['1,', false],
      ['[1', false],
      [':', true],
      ['{', false],
      ['}', false],
      [']', false],
      ['b', true],
      ['B', true],
      ['2', true],
    ] as const)
      expect([text, found(text, plain)]).toEqual([text, isThere]);
  });

  test('needs any of several texts, beside the conditions', () => {
    expect(keeps(EVENT, [], ['failed', 'eur'])).toBe(true);
    expect(keeps(EVENT, [], ['failed', 'usd'])).toBe(true);
    expect(keeps(EVENT, [], ['yen', 'usd'])).toBe(false);
    expect(keeps(EVENT, ['attempts = 3'], ['usd'])).toBe(false);
    expect(keeps(EVENT, ['attempts = 4'], ['eur'])).toBe(false);
  });

  test('finds the same as a walk over the parsed event', () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' });
    const has = (node: unknown, text: string): boolean => {
      if (typeof node === 'string') return node.toLowerCase().includes(text);
      if (node === null || typeof node !== 'object') return JSON.stringify(node).toLowerCase().includes(text);
      return Object.entries(node).some(
        ([name, member]) => (!Array.isArray(node) && has(name, text)) || has(member, text),
      );
    };
    fc.assert(
      fc.property(value, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }), (node, text) => {
        expect(found(text, JSON.stringify(node))).toBe(has(node, text.toLowerCase()));
      }),
    );
  });
});

describe('FIELD in (values)', () => {
  const ITEMS = ['"a"', '"b,c"', '" d"', '1', '1.0', '"1"', 'null', 'true', '"2026-11-01"', '["a"]'];
  const keptBy = (condition: string, readValues?: (file: string) => readonly string[]) => {
    const parsed = parseCondition(condition, '--where', 0, UTC, readValues);
    const kept = itemFilter([parsed], [])(Items.of(ITEMS.map((value) => Buffer.from(`{"f":${value}}`))));
    return kept.texts().map((text) => text.toString().slice('{"f":'.length, -1));
  };

  test.each([
    ['f in (a)', ['"a"']],
    ['f IN ( a , "b,c" )', ['"a"', '"b,c"']],
    ["f in ('b,c',' d')", ['"b,c"', '" d"']],
    ['f in (1)', ['1', '1.0', '"1"']],
    ['f in ("1")', ['"1"']],
    ['f not in (1, null, true)', ['"a"', '"b,c"', '" d"', '"2026-11-01"', '["a"]']],
    ['f in (null, true)', ['null', 'true']],
    ['f in (2026-11-01T00:00Z)', ['"2026-11-01"']],
    ['f in (x)', []],
    // These are left of true and null without their ends, as of a text without its quotes.
    ['f in (ru, ul)', []],
  ])('%s keeps %j', (condition, kept) => expect(keptBy(condition)).toEqual(kept));

  test('each value is what it is behind =: a number or a text in quotes is no time', () => {
    const { alternatives = [] } = parseCondition('f in (b, 3, 2026, "2026-11-01", 2026-11-01)', '--where', 0);
    expect(alternatives.map(({ value, quoted, instant }) => [value, quoted, instant?.text])).toEqual([
      ['b', false, undefined],
      ['3', false, undefined],
      ['2026', false, undefined],
      ['2026-11-01', true, undefined],
      ['2026-11-01', false, '2026-11-01'],
    ]);
    for (const { text, operator, value } of alternatives.slice(0, 1))
      expect([text, operator, value]).toEqual(['--where b', '=', 'b']);
    const { alternatives: days = [] } = parseCondition('createdOn:weekday in (Friday)', '--where', 0);
    expect(days.map(({ instant }) => instant)).toEqual([undefined]);
  });

  test('holds where = holds for one of the values', () => {
    const value = fc.constantFrom('a', '"b,c"', '1', '"1"', 'null', 'true', '2026-11-01', 'x');
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
        const each = values.flatMap((one) => keptBy(`f = ${one}`));
        expect(keptBy(`f in (${values.join(', ')})`)).toEqual(ITEMS.filter((item) => each.includes(item)));
      }),
    );
  });

  test('takes the values of a file, one a line, where files may be read', () => {
    const asked: string[] = [];
    const read = (file: string) => {
      asked.push(file);
      return ['a', 'b,c'];
    };
    // A comma belongs to the value of a line.
    expect(keptBy('f in @my orders.txt ', read)).toEqual(['"a"', '"b,c"']);
    expect(asked).toEqual(['my orders.txt']);
    expect(parseCondition('f in @orders.txt', '--where', 0, UTC, read).file).toBe('orders.txt');
    expect(parseCondition('f in (a)', '--where', 0, UTC, read)).not.toHaveProperty('file');
    const refused = expect.objectContaining({
      message: '--where: @orders.txt names a file, and no files are read here',
      next: 'give the values themselves: FIELD in (a, b)',
    });
    expect(() => keptBy('f in @orders.txt')).toThrow(refused);
    expect(() => refuseFileOfValues('f in @orders.txt ', '--where')).toThrow(refused);
    for (const condition of ['f in (a)', 'f = @orders.txt', 'f'])
      expect(() => refuseFileOfValues(condition, '--where')).not.toThrow();
  });
});

test('a list of values is known by its form', () => {
  for (const text of ['f in (a)', 'f NOT IN @orders.txt']) expect(isMembership(text)).toBe(true);
  for (const text of ['f = (a)', 'made in China', 'in (a)']) expect(isMembership(text)).toBe(false);
});

test('of several texts to look for any one is enough', () => {
  const items = Items.of(['{"a":"one"}', '{"a":"two"}', '{"a":"three"}'].map((text) => Buffer.from(text)));
  const keep = (...texts: string[]) => itemFilter([], texts)(items).count;
  expect([keep('one', 'two'), keep('one', 'none'), keep('none'), keep()]).toEqual([2, 1, 0, 3]);
});

// Where the time grows with the square of the length, these take minutes, which the time-out of a test ends.
test.each([['x'], [' '], ['\\'], ['a '], [' in '], ['12:30 '], ['"'], ['('], ['a,']])(
  'a condition of 200,000 characters of %j is read, or refused, at once',
  (unit) => {
    const text = unit.repeat(200_000 / unit.length);
    for (const condition of [`f = ${text}`, `f ${text}`, `f in (${text})`, text])
      try {
        expect(parseCondition(condition, '--where', 0).field.steps.length).toBeGreaterThan(0);
      } catch (error) {
        expect((error as Error).message).toContain('--where');
      }
  },
);
