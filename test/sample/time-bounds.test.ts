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
