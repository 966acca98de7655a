import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TimeBounds } from '../../src/sample/time-bounds.ts';
import { earlierOf, type Instant, laterOf, parseInstant } from '../../src/time/instant.ts';

const twoDigits = (max: number) => fc.integer({ min: 0, max }).map((number) => `${number}`.padStart(2, '0'));
const time = fc
  .tuple(
    fc.tuple(twoDigits(13), twoDigits(32), twoDigits(24), twoDigits(60), twoDigits(60)),
    fc.constantFrom('', '.5', '.50', '.051', ',5'),
    fc.constantFrom('Z', 'Z', 'z', '', '+02:00'),
  )
  .map(([[month, day, hour, minute, second], fraction, zone]) => {
    return `2026-${month}-${day}T${hour}:${minute}:${second}${fraction}${zone}`;
  });

test('the bounds of times are those of the times parsed, whatever form they have', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(time, fc.constantFrom('', 'soon', '2026-11-20')), { maxLength: 20 }),
      (texts) => {
        const bounds = new TimeBounds();
        for (const text of texts) bounds.see(text);
        const known = texts.flatMap((text) => parseInstant(text) ?? []);
        const first = known.reduce<Instant | undefined>(earlierOf, undefined);
        const last = known.reduce<Instant | undefined>(laterOf, undefined);
        const moments = ({ seconds, fraction }: Instant) => ({ seconds, fraction });
        const found = bounds.result();
        expect(found.first && moments(found.first)).toEqual(first && moments(first));
        expect(found.last && moments(found.last)).toEqual(last && moments(last));
        expect(bounds.unknown).toBe(texts.length - known.length);
      },
    ),
  );
});

const day = (number: number, rest = '') => `2026-11-${number}T10:00:00${rest}Z`;

test.each([
  [[day(12), day(11), day(14), day(13)], day(11), day(14)],
  [[day(14), day(11), day(12)], day(11), day(14)],
  [[day(11), day(14), day(12)], day(11), day(14)],
  [[day(11, '.25'), day(11), day(11, '.3')], day(11), day(11, '.3')],
  [[day(11, '.1'), day(11, '.10')], day(11, '.1'), day(11, '.1')],
  [[day(12), '2026-11-12T23:00:00+14:00'], '2026-11-12T23:00:00+14:00', day(12)],
  [[day(12)], day(12), day(12)],
])('the bounds of %j are the earliest and the latest', (texts, earliest, latest) => {
  const bounds = new TimeBounds();
  for (const text of texts) bounds.see(text);
  const { first, last } = bounds.result();
  expect([first, last].map((instant) => [instant?.seconds, instant?.fraction])).toEqual(
    [earliest, latest].map((text) => [parseInstant(text)?.seconds, parseInstant(text)?.fraction]),
  );
  expect(bounds.unknown).toBe(0);
});

test.each([
  'at 2026-11-12T10:00:00Z',
  '2026-11-12T10:00:00Z at once',
  'year-11-12T10:00:00Z',
  '6-11-12T10:00:00Z',
  '2026-00-12T10:00:00Z',
  '2026-13-12T10:00:00Z',
  '2026-11-00T10:00:00Z',
  '2026-11-1xT10:00:00Z',
  '2026-11-31T10:00:00Z',
  '2026-02-29T10:00:00Z',
  '2026-11-12T34:00:00Z',
  '2026-11-12T25:00:00Z',
  '2026-11-12T1x:00:00Z',
  '2026-11-12T10:60:00Z',
  '2026-11-12T10:0x:00Z',
  '2026-11-12T10:00:61Z',
  '2026-11-12T10:00:0xZ',
  '2026-11-12T10:00:00.xZ',
  '2026-11-12T10:00:00.Z',
])('%s is no time, each time that it is seen', (text) => {
  const bounds = new TimeBounds();
  for (const seen of [day(11), text, text, day(13), text]) bounds.see(seen);
  const { first, last } = bounds.result();
  expect([first?.text, last?.text]).toEqual([day(11), day(13)]);
  expect(bounds.unknown).toBe(3);
});
