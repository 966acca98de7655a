import { aligned } from './aligned.ts';

export function timesText(): string {
  return `Times are shown and read in UTC, or in the zone of --timezone (the setting
timezone, HOOKTRAIL_TIMEZONE): UTC, local for this machine's, or a name of the
IANA database such as Europe/Berlin.

  hooktrail config set timezone local
  hooktrail events search --failed --since today --timezone Europe/Berlin

Tables, statistics, watch, browse and reports show times in the zone, with its
offset and as many digits as fit: 2026-11-01 09:30:00.1234567+01:00. Filters
accept every form that is printed. JSON, NDJSON and CSV keep the text of the
service. In browse the key z switches the zone.

These are read in the zone:

${aligned([
  ['2026-11-01', 'the beginning of that day'],
  ['2026-11-01 08:30', 'a date and time without a zone'],
  ['08:00, 8am, yesterday 8am', 'a time of day'],
  ['today, yesterday', 'the beginning of a day, which may last 23 or 25 hours'],
])}
A time with Z or an offset has its own zone; spans ago have none.

When clocks are put back, some times occur twice, and mean the first occurrence;
an offset chooses either: 2027-10-31 02:30+02:00, or 02:30+01:00. When clocks
are put forward, some times never occur, and mean the moment of the change: in
Berlin 2027-03-28 02:30 is 03:00+02:00.

The parts of a chart begin on the zone's clock. When the clock changes, each
part shows its offset, and both hours called 02:00 have a bar.
`;
}
