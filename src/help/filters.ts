import { aligned } from './aligned.ts';

export function filtersText(): string {
  return `These filters apply to events search, get, count, stats, watch, export, report
and browse, and to webhooks recover and replay.

${aligned([
  ['--since T (or --after)', 'created later than T'],
  ['--until T (or --before)', 'created earlier than T'],
  ['--subscription GUID', 'of this subscription'],
  ['--id GUID', 'with this event id'],
  ['--status SUCCESS|FAILED', 'with this delivery status, ignoring case; --failed is --status FAILED'],
  ['--type NAME', 'of this event type, as hooktrail event-types lists them'],
  ["--where 'FIELD OP VALUE'", 'with a field that matches: OP is = != < <= > >= or ~ (contains)'],
  ['--grep TEXT', 'with this text in a value or a name, ignoring case'],
])}
An event must match all filters. If a filter is repeated, or has a list with
commas, one of its values has to match. All events come in one list, in the
service's order of creation, usually newest first.

  hooktrail events search --failed --type document.signed,envelope.sent

hooktrail applies --where and --grep itself, to the events that match the other
filters; an event must match all of them. FIELD is a path as for --fields; a
value in double quotes is text. Numbers compare as numbers, times as times; a
missing field is null.

  hooktrail events search --failed --where 'delivery.attempts >= 3' --grep 4711

T, a point in time:

${aligned([
  ['2026-11-01', 'the beginning of that day'],
  ['2026-11-01T08:30:00Z', 'a moment in UTC, sent exactly as typed'],
  ['2026-11-01T09:30:00+01:00', 'a moment in another zone, converted to UTC'],
  ['08:00, 8am, yesterday 8am', 'that time today, or the day before'],
  ['90s, 15m, 2h, 1d12h, 2 weeks ago', "that long ago, by the service's clock"],
  ['now, today, yesterday', 'this moment, and the beginning of a day'],
])}
Days and times without a zone are in the zone of --timezone, by default UTC: see
hooktrail help times.

Both bounds are exclusive: an event created exactly at T is on neither side.
--dry-run shows the request for the filters and sends nothing.
`;
}
