import { expect, test } from 'vitest';
import { LeftEvents, type LeftReason, leftFor, reasonOf } from '../../src/webhooks/left-events.ts';
import { foundOf } from '../support/found.ts';

/** Leaves an event for each of the reasons. */
function leaving(...reasons: readonly LeftReason[]) {
  const left = new LeftEvents();
  const events = foundOf(reasons.map((_, index) => ({ eventId: `event-${index}` })));
  const traced: string[] = [];
  for (const [index, reason] of reasons.entries())
    left.add(events[index] ?? expect.fail('no such event'), reason, { trace: (line) => traced.push(line) });
  return { left, events, traced, details: () => left.error('recovered', 'again').details };
}

test('events are kept in the order in which they were left, and --verbose says why each was', () => {
  const { left, events, traced } = leaving(leftFor('b'), leftFor('a'), leftFor('b'));
  expect(left.events).toEqual(events);
  expect(traced).toEqual(['event-0: b', 'event-1: a', 'event-2: b']);
});

test('an event without an id is said to have none, and a long id is cut short', () => {
  const left = new LeftEvents();
  const traced: string[] = [];
  for (const event of foundOf([{}, { eventId: 'x'.repeat(101) }]))
    left.add(event, leftFor('a'), { trace: (line) => traced.push(line) });
  expect(traced).toEqual(['an event without an eventId: a', `${'x'.repeat(100)}… (101 characters): a`]);
});

test('the error counts the events, and ends with the next step', () => {
  expect(leaving(leftFor('a')).left.error('recovered', 'again')).toMatchObject({
    message: '1 event was not recovered',
    details: ['1: a'],
    next: 'again',
    exitCode: 1,
  });
  expect(leaving(leftFor('a'), leftFor('a')).left.error('replayed', 'once more')).toMatchObject({
    message: '2 events were not replayed',
    details: ['2: a'],
    next: 'once more',
  });
});

test('the reasons of most events come first, each with the first text of its kind', () => {
  const answers = [
    { status: 503, body: 'busy' },
    { status: 422, body: 'id 1' },
    { status: 422, body: 'id 2' },
    { status: 422 },
    { failure: 'it broke off' },
    { failure: 'it does not accept connections' },
  ];
  expect(leaving(...answers.map(reasonOf)).details()).toEqual([
    '3: the handler answered 422: id 1',
    '2: the handler did not answer: it broke off',
    '1: the handler answered 503: busy',
  ]);
});

test('redirects to several places are reasons of their own, apart from an answer without one', () => {
  const answers = ['https://a.example/', 'https://b.example/', undefined, 'https://a.example/'];
  const reasons = answers.map((redirect) => reasonOf({ status: 302, redirect }));
  expect(leaving(...reasons).details()).toEqual([
    '2: the handler answered 302 with Location https://a.example/: redirects are not followed',
    '1: the handler answered 302 with Location https://b.example/: redirects are not followed',
    '1: the handler answered 302',
  ]);
});

test('five reasons are shown, and the others are counted', () => {
  const reasons = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(leftFor);
  const shown = ['1: a', '1: b', '1: c', '1: d', '1: e'];
  expect(leaving(...reasons.slice(0, 5)).details()).toEqual(shown);
  expect(leaving(...reasons.slice(0, 6)).details()).toEqual([
    ...shown,
    '1 more reason (--verbose shows each)',
  ]);
  expect(leaving(...reasons).details()).toEqual([...shown, '2 more reasons (--verbose shows each)']);
});

test('the numbers have thousands separators', () => {
  const left = new LeftEvents();
  const [event] = foundOf([{ eventId: 'a' }]);
  const add = (reason: LeftReason) => event && left.add(event, reason, { trace: () => undefined });
  for (let index = 0; index < 1_234; index++) add(leftFor('a'));
  for (let index = 0; index < 1_005; index++) add(leftFor(`reason ${index}`));
  const { message, details } = left.error('recovered', 'again');
  expect([message, details[0], details[5]]).toEqual([
    '2,239 events were not recovered',
    '1,234: a',
    '1,001 more reasons (--verbose shows each)',
  ]);
});
