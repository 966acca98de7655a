import { describe, expect, test } from 'vitest';
import { didYouMean, nearest } from '../../src/settings/nearest-word.ts';

describe('the nearest word', () => {
  test.each([
    // A letter that is missing, added, replaced, or swapped with the next one.
    ['coun', ['count'], 'count'],
    ['countt', ['count'], 'count'],
    ['xount', ['count'], 'count'],
    ['cuont', ['count'], 'count'],
    ['ocunt', ['count'], 'count'],
    ['coutn', ['count'], 'count'],
    ['COUTN', ['count'], 'count'],
    ['coutn', ['COUNT'], 'COUNT'],
    // A third of the longer text, and one letter of a short one.
    ['gte', ['get'], 'get'],
    ['gx', ['ge'], 'ge'],
    ['xy', ['ge'], undefined],
    ['abcxyz', ['abcdef'], undefined],
    ['abcdxy', ['abcdef'], 'abcdef'],
    ['abcdxyzhi', ['abcdefghi'], 'abcdefghi'],
    ['abcwxyzhi', ['abcdefghi'], undefined],
    ['wxcdefghi', ['abcdefghi'], 'abcdefghi'],
    // Half of each part between dots.
    ['order.cancelled', ['order.created'], undefined],
    ['order.cancelled', ['order.created', 'order.canceled'], 'order.canceled'],
    ['order.payed', ['order.paid'], 'order.paid'],
    // The nearest of several, and of equal ones the first.
    ['searhc', ['sea', 'searcher', 'search'], 'search'],
    ['cat', ['bat', 'hat'], 'bat'],
    ['cat', ['hat', 'bat'], 'hat'],
    ['', ['get'], undefined],
    ['count', [], undefined],
  ])('of %j among %j is %s', (text, candidates, expected) => {
    expect(nearest(text, candidates)).toBe(expected);
  });

  test.each([
    ['exp', ['explain', 'search'], 'explain'],
    ['EXP', ['explain', 'search'], 'explain'],
    ['exp', ['explain', 'export'], undefined],
    ['ex', ['explain', 'search'], undefined],
    ['lain', ['explain', 'search'], undefined],
  ])('that %j alone begins among %j is %s', (text, candidates, expected) => {
    expect(nearest(text, candidates)).toBe(expected);
  });

  test('of very long texts is the same text alone', () => {
    const long = (length: number, end: string) => 'x'.repeat(length - 1) + end;
    expect(nearest(long(200, 'a'), [long(200, 'b')])).toBe(long(200, 'b'));
    expect(nearest(long(201, 'a'), [long(201, 'b')])).toBeUndefined();
    expect(nearest(long(201, 'a'), [long(200, 'a')])).toBeUndefined();
    expect(nearest(long(200, 'a'), [long(201, 'a')])).toBeUndefined();
    expect(nearest(long(201, 'a'), [long(201, 'b'), long(201, 'a')])).toBe(long(201, 'a'));
  });
});

test.each([
  [didYouMean('coutn', ['count']), 'did you mean count?', { typed: 'coutn', meant: 'count' }],
  [didYouMean('coutn', ['count'], 'x', 'get'), 'did you mean get?', { typed: 'coutn', meant: 'get' }],
  [didYouMean('zzz', ['count'], 'see the list'), 'see the list', undefined],
  [didYouMean('zzz', ['count']), undefined, undefined],
])('an error asks for the word that was meant, or says how else to go on', (parts, next, correction) => {
  expect([parts.next, parts.correction]).toEqual([next, correction]);
});
