import { ExitCode } from '../errors.ts';
import { settingNames } from '../settings/setting-names.ts';

export function environmentText(): string {
  const settings = Object.values(settingNames).map(
    ({ variable, flag, meaning }) => [variable, `${meaning} (flag ${flag})`] as const,
  );
  return `A flag overrides its variable, which overrides the profile, which overrides the
default. No setting is ever read from the working directory.

Settings:
${aligned([...settings, ['HOOKTRAIL_PROFILE', 'the profile to use (flag --profile)']])}
Secrets:
${aligned([
  ['HOOKTRAIL_CLIENT_SECRET', 'the client secret'],
  ['HOOKTRAIL_ACCESS_TOKEN', 'an access token to use as it is: never refreshed, never stored'],
  ['HOOKTRAIL_PASSPHRASE', 'opens the encrypted file of secrets (--store file); may be a key of keygen'],
  ['HOOKTRAIL_API_TOKEN', 'the token that webhooks listen expects from a sender'],
])}
Each secret may come from a file or a shell command instead: <NAME>_FILE names
the file, <NAME>_COMMAND is the command. The first line is the secret.

The machine:
${aligned([
  ['HOOKTRAIL_CONFIG_DIR', 'where settings, and secrets in an encrypted file, are kept'],
  [
    'HOOKTRAIL_BROWSER',
    'a command that opens a URL: run with the URL as its one argument, without a shell; hooktrail for none, where the provider approves by itself, as a sandbox can',
  ],
  [
    'HOOKTRAIL_PAGER',
    'a shell command for output that does not fit the terminal, else PAGER, else less; cat for none',
  ],
  ['HTTPS_PROXY', 'the proxy; NO_PROXY lists hosts that are reached without it'],
  ['NODE_EXTRA_CA_CERTS', 'a file of certificate authorities to trust besides the usual ones'],
  ['NO_COLOR, FORCE_COLOR', 'colour off, or on (flag --no-color)'],
  ['ACCESSIBLE', 'for screen readers: nothing is redrawn, progress is printed as occasional lines'],
])}`;
}

/** The meaning of each exit code. */
export const exitCodeMeanings: { readonly [Name in keyof typeof ExitCode]: string } = {
  done: 'done; also when the reader of the output went away, as `| head` does',
  failed: 'the service answered with an error, or the result could not be completed',
  usage: 'a wrong command line, or settings that are missing or wrong',
  notFound: 'events get: at least one id was not found (those found are printed)',
  notSignedIn: 'not signed in, or the sign-in was refused',
  unreachable: 'the service could not be reached, after retries: DNS, refused, TLS, time-out',
  matched: 'with --exit-code: at least one event matched',
  interrupted: 'interrupted with Ctrl-C (SIGINT)',
  terminated: 'ended by SIGTERM, or its terminal was closed',
};

export function exitCodesText(): string {
  const names = Object.keys(ExitCode) as (keyof typeof ExitCode)[];
  const codes = aligned(names.map((name) => [String(ExitCode[name]), exitCodeMeanings[name]] as const));
  return `Exit codes:

${codes}
For monitoring, --exit-code shows whether anything matched:

  hooktrail events search --failed --since 10m --exit-code --quiet > failed.txt
  case $? in
    0) ;;                                  # nothing failed
    10) mail -s 'failed deliveries' ops < failed.txt ;;
    *) echo 'the check itself failed' ;;
  esac
`;
}

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

/** The width that every terminal has. */
const COLUMNS = 80;

/** Returns two columns, the second aligned and wrapped. */
function aligned(rows: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.flatMap(([left, right]) =>
    broken(right, COLUMNS - width - 4).map(
      (line, index) => `  ${(index === 0 ? left : '').padEnd(width)}  ${line}\n`,
    ),
  );
  return lines.join('');
}

function broken(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
