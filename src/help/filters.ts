import { aligned } from './aligned.ts';

export function filtersText(): string {
  return `The same filters choose events in events search, get, count, stats, watch,
export, report and browse, and in webhooks recover and replay.

${aligned([
  ['--since T (or --after)', 'created later than T'],
  ['--until T (or --before)', 'created earlier than T'],
  ['--subscription GUID', 'of this subscription'],
  ['--id GUID', 'with this event id'],
  ['--status SUCCESS|FAILED', 'with this delivery status, in any case; --failed is --status FAILED'],
  ['--type NAME', 'of this event type, as hooktrail event-types lists them'],
  ["--where 'FIELD OP VALUE'", 'with a field that fits: OP is = != < <= > >= or ~ (contains)'],
  ['--grep TEXT', 'with this text in a value or a name, in any case'],
])}
All that are given must hold. One that is repeated, or holds a list with commas,
takes any of its values; the events of all come in one list, in the service's
own order of creation: newest first, as a rule.

  hooktrail events search --failed --type document.signed,envelope.sent

--where and --grep run here, on what the other filters leave: all of them must
hold. FIELD is a path as for --fields; a value in double quotes is a text.
Numbers compare as numbers, times as times; a missing field is null.

  hooktrail events search --failed --where 'delivery.attempts >= 3' --grep 4711

T, a point in time:

${aligned([
  ['2026-11-01', 'the beginning of that day'],
  ['2026-11-01T08:30:00Z', 'a moment in UTC, sent exactly as typed'],
  ['2026-11-01T09:30:00+01:00', 'a moment elsewhere, converted to UTC'],
  ['08:00, 8am, yesterday 8am', 'that time of today, or of the day before'],
  ['90s, 15m, 2h, 1d12h, 2 weeks ago', "that long ago, by the service's clock"],
  ['now, today, yesterday', 'this moment, and the beginning of a day'],
])}
Days, and times without a zone, are those of --timezone, by default UTC: see
hooktrail help times.

Both bounds are exclusive: an event created exactly at T is on neither side.
--dry-run shows the request that the filters make, and sends nothing.
`;
}
