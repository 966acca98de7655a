import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { adviceText } from '../../src/advice.ts';
import { UsageError } from '../../src/errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  eventFilters,
  type FilterFlags,
  filtersOf,
} from '../../src/filters/filter-flags.ts';
import { memberPath } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { queryString } from '../../src/paging/event-query.ts';
import { RunSettings, type SavedProfile, type SettingFlags } from '../../src/settings/settings.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { NOON } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { fakeReporter } from '../support/outputs.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const OTHER = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const customer = memberPath('customer');

/** The message of the `UsageError`, and what it advises. */
function refusalOf(work: () => unknown): [message: string, next: string | undefined] {
  try {
    work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return [error.message, error.next && adviceText(error.next, {})];
  }
  throw new Error('it was not refused');
}
const refused = (flags: FilterFlags, nameField = customer) =>
  refusalOf(() => eventFilters(flags, NOON, UTC, flags.from === undefined ? undefined : nameField));
const queries = (flags: FilterFlags, zone = UTC) =>
  eventFilters(flags, NOON, zone)
    .queries(NOON)
    .map((query) => queryString(query));

describe('the flags of filters', () => {
  const command = () =>
    addFilterFlags(new Command('search'))
      .exitOverride()
      .configureOutput({ writeErr: () => {} });

  test('are described in the help of each command that has them', () => {
    const help = command().configureHelp({ helpWidth: 1000 }).helpInformation();
    const [, lines = []] = help.split('\n\n').map((section) => section.split('\n'));
    expect(lines.map((line) => line.trim().replace(/ {2,}/, ': '))).toEqual([
      'Filters:',
      '--since <time>: created later than this: 2026-11-01, 2026-11-01T08:30:00Z, 08:00, 2h, 7d, today',
      '--until <time>: created earlier than this',
      '--day <date>: created on this day of the zone: 2026-11-01, yesterday',
      '--month <month>: created in this month of the zone: 2026-11',
      '--subscription <guid>: of this subscription, or with this in its callback address (repeatable, or with commas: any of them)',
      '--id <guid>: with this event id (repeatable, or with commas: any of them)',
      '--status <status>: with this publish status: SUCCESS or FAILED (repeatable, or with commas: any of them)',
      '--failed: the same as --status FAILED',
      '--type <name>: of this event type, ignoring case; order.* for all on offer that match (repeatable, or with commas: any of them)',
      "--where <condition>: with a field that matches: 'eventData.body.pages > 20', 'lines[].sku = A-7' (any element); also != < <= >= ~ (contains), 'FIELD in (a, b)', 'not in', in @FILE, FIELD (present) and '!FIELD'",
      '--grep <text>: with this text in a value or a name, ignoring case (repeatable: any of them)',
      '--marketplace <id>: of this marketplace, or of several with commas; all: of any; hooktrail filters by it',
    ]);
    expect(help).toContain('--timezone <zone>');
    expect(help).not.toContain('--after');
    expect(command().options.find(({ long }) => long === '--before')?.description).toBe(
      'the same as --until',
    );
    expect(command().options.find(({ long }) => long === '--after')?.description).toBe('the same as --since');
  });

  test('are lists where an event may have any of the values', () => {
    const parsed = command().parse(
      ['--type', 'a', '--type', 'b', '--grep', 'x', '--where', 'a = 1', '--where', 'b', '--since', '2h'],
      { from: 'user' },
    );
    expect(parsed.opts()).toEqual({
      type: ['a', 'b'],
      grep: ['x'],
      where: ['a = 1', 'b'],
      since: '2h',
    });
  });
});

describe('--from', () => {
  test('is described, for the places that a command reads', () => {
    const help = (command: Command) =>
      command.configureHelp({ helpWidth: 1000 }).helpInformation().replace(/ {2,}/g, ' ');
    expect(help(addFromFlag(new Command()))).toContain(
      '--from <place> read events from an export or a file (NDJSON or a JSON array; - for standard input); needs no sign-in\n',
    );
    expect(help(addFromFlag(new Command(), 'a file'))).toContain('read events from a file; needs no sign-in');
  });

  test('takes one place', () => {
    const parse = (...argv: string[]) => addFromFlag(new Command()).parse(argv, { from: 'user' });
    expect(parse('--from', 'a').opts()).toEqual({ from: 'a' });
    expect(refusalOf(() => parse('--from', 'a', '--from', 'b'))).toEqual([
      "--from takes one place, but was given 'a' and 'b'",
      'several files go through standard input: cat FILES | hooktrail … --from -',
    ]);
  });
});

describe('times', () => {
  test.each<[FilterFlags, string]>([
    [{ since: '2026-11-01' }, 'gt(createdOn,2026-11-01)'],
    [{ after: ' 2026-11-01 ' }, 'gt(createdOn,2026-11-01)'],
    [{ until: '2h' }, 'lt(createdOn,2026-11-20T10:00:00Z)'],
    [{ before: '2026-11-01' }, 'lt(createdOn,2026-11-01)'],
    [{ day: 'yesterday' }, 'gt(createdOn,2026-11-18T23:59:59.9999999Z)&lt(createdOn,2026-11-20T00:00:00Z)'],
    [{ month: '2026-10' }, 'gt(createdOn,2026-09-30T23:59:59.9999999Z)&lt(createdOn,2026-11-01T00:00:00Z)'],
  ])('%j ask for %s', (flags, query) => {
    expect(queries(flags)).toEqual([query]);
  });

  test('without a zone are of the given one', () => {
    const berlin = new TimeZone('Europe/Berlin');
    expect(queries({ since: '2026-11-01' }, berlin)).toEqual(['gt(createdOn,2026-10-31T23:00:00Z)']);
    expect(queries({ day: '2026-11-01' }, berlin)).toEqual([
      'gt(createdOn,2026-10-31T22:59:59.9999999Z)&lt(createdOn,2026-11-01T23:00:00Z)',
    ]);
    expect(eventFilters({ where: ['createdOn > 2026-11-01'] }, NOON, berlin).typed()['timezone']).toBe(
      'Europe/Berlin',
    );
  });

  test('in conditions count from the same moment', () => {
    const keep = eventFilters({ where: ['createdOn > 2h'] }, NOON).createKeep();
    const items = [NOON - 7_100_000, NOON - 7_300_000].map((time) =>
      Buffer.from(JSON.stringify({ createdOn: new Date(time).toISOString() })),
    );
    expect(keep?.(Items.of(items)).count).toBe(1);
  });

  test('have the flag and the text that were typed in what is said of them', () => {
    const { after, before } = eventFilters({ after: ' 7d ', until: 'today' }, NOON);
    expect([after, before]).toMatchObject([
      { flag: '--after', text: '7d' },
      { flag: '--until', text: 'today' },
    ]);
    const day = eventFilters({ day: 'yesterday' }, NOON);
    expect([day.after, day.before]).toMatchObject([
      { flag: '--day', text: '2026-11-19' },
      { flag: '--day', text: '2026-11-19' },
    ]);
  });

  const day = 'write it as 2026-11-20, 20 Nov, yesterday or monday; --since and --until take times of day';
  const month = 'write it as 2026-11 or Nov 2026; --since and --until take times of day';
  const one = 'give one of them';
  const time =
    'write a time as 2026-11-20 08:30, 08:00, 2h, 7d, yesterday or monday; see `hooktrail help times`';
  test.each<[FilterFlags, string, string | undefined]>([
    [{ since: '1d', after: '2d' }, '--since and --after mean the same: give one of them', undefined],
    [{ until: '1d', before: '2d' }, '--until and --before mean the same: give one of them', undefined],
    [{ since: 'soon' }, "--since: invalid value 'soon': must be a time", time],
    [{ after: '' }, "--after: invalid value '': must be a time", time],
    [{ before: 'soon' }, "--before: invalid value 'soon': must be a time", time],
    [{ day: '08:00' }, "--day: invalid value '08:00': must be a day", day],
    [{ month: '13' }, "--month: invalid value '13': must be a month", month],
    ...(['since', 'after', 'until', 'before'] as const).map((name): [FilterFlags, string, string] => [
      { day: 'yesterday', [name]: '2h' },
      `--day and --${name} exclude each other: --day has a beginning and an end`,
      one,
    ]),
    [
      { month: '2026-10', day: 'yesterday', since: '2h' },
      '--day and --month exclude each other: --day has a beginning and an end',
      one,
    ],
    [
      { month: '2026-10', until: '2h' },
      '--month and --until exclude each other: --month has a beginning and an end',
      one,
    ],
    [
      { since: '2026-11-20', until: '2026-11-19' },
      '--since 2026-11-20 and --until 2026-11-19 leave no time between them: nothing can match',
      undefined,
    ],
  ])('such as %j are refused', (flags, message, next) => {
    expect(refused(flags)).toEqual([message, next]);
  });
});

describe('values', () => {
  test('of --failed are those of --status too, each once', () => {
    const statuses = (flags: FilterFlags) => eventFilters(flags, NOON).statuses;
    expect(statuses({ failed: true })).toEqual(['FAILED']);
    expect(statuses({ failed: true, status: ['failed'] })).toEqual(['FAILED']);
    expect(statuses({ failed: true, status: ['success'] })).toEqual(['SUCCESS', 'FAILED']);
    expect(statuses({ status: ['Success,success'] })).toEqual(['SUCCESS']);
  });

  test.each<[FilterFlags, string, string | undefined]>([
    [{ type: ['a,,b'] }, "--type: an event type is missing in 'a,,b'", '`hooktrail event-types` lists them'],
    [{ type: [' '] }, "--type: an event type is missing in ' '", '`hooktrail event-types` lists them'],
    [{ status: ['failed,'] }, "--status: a status is missing in 'failed,'", undefined],
    [{ status: ['sent'] }, "--status: invalid value 'sent': must be SUCCESS or FAILED", undefined],
    [
      { status: ['undelivered'] },
      "--status: invalid value 'undelivered': must be SUCCESS or FAILED",
      'did you mean FAILED?',
    ],
    [{ grep: ['a', ''] }, '--grep: the text to look for is missing', undefined],
    [
      { id: [`${ID} ${OTHER}`] },
      `--id: '${`${ID} ${OTHER}`.slice(0, 60)}…' holds 2 GUIDs: ${ID}, ${OTHER}`,
      'put one comma between two ids',
    ],
    [
      { subscription: [`${ID} ${OTHER}`] },
      `--subscription: '${`${ID} ${OTHER}`.slice(0, 60)}…' holds 2 GUIDs: ${ID}, ${OTHER}`,
      'put one comma between two ids',
    ],
    [
      { id: ['A-1042'] },
      `--id: 'A-1042' is not a GUID such as ${ID}`,
      '`hooktrail events search --grep A-1042` finds an event by part of its id, or by another text',
    ],
    [
      { subscription: ['0f8fad5b-d9'], from: 'old' },
      `--subscription: '0f8fad5b-d9' is not a GUID such as ${ID}`,
      '`hooktrail events search --grep 0f8fad5b-d9 --from old` finds the events of a subscription by part of its id, or by another text',
    ],
    [
      { subscription: [''], from: 'old' },
      `--subscription: '' is not a GUID such as ${ID}`,
      'stored events name no address; words choose them once the field is known that says who an event is for: `hooktrail config set name-field PATH`',
    ],
    [{ subscription: [''] }, `--subscription: '' is not a GUID such as ${ID}`, undefined],
    [
      { id: ['billing'], subscription: ['billing'] },
      `--id: 'billing' is not a GUID such as ${ID}`,
      undefined,
    ],
    [{ id: ['billing'], from: 'old' }, `--id: 'billing' is not a GUID such as ${ID}`, undefined],
  ])('such as %j are refused', (flags, message, next) => {
    expect(refused(flags)).toEqual([message, next]);
  });

  test('of stored events are no names unless a field says who an event is for', () => {
    const flags = { subscription: ['billing'], from: 'old' };
    expect(refusalOf(() => eventFilters(flags, NOON))).toEqual([
      `--subscription: 'billing' is not a GUID such as ${ID}`,
      'stored events name no address; words choose them once the field is known that says who an event is for: `hooktrail config set name-field PATH`',
    ]);
    const named = eventFilters({ subscription: ['billing', ID], from: 'old' }, NOON, UTC, customer);
    expect(named).toMatchObject({
      subscriptionWords: [],
      nameWords: ['billing', ID],
      values: { subscriptionId: [] },
      nameField: customer,
    });
    const byId = eventFilters({ subscription: [ID], from: 'old' }, NOON, UTC, customer);
    expect(byId).toMatchObject({ subscriptionWords: [], nameWords: [], values: { subscriptionId: [ID] } });
    const live = eventFilters({ subscription: ['billing', ID] }, NOON, UTC, customer);
    expect(live).toMatchObject({
      subscriptionWords: ['billing'],
      nameWords: [],
      values: { subscriptionId: [ID] },
    });
  });

  test.each([
    [['billing', ' billing '], ['billing']],
    [['Harbour, Freight'], ['Harbour, Freight']],
    [[`${ID},billing,, , eu`], ['billing', 'eu']],
    [[`billing, ${ID}`], ['billing']],
    // These are no parts of an id: letters alone may be a word, and an id has no other letters.
    [['cafe'], ['cafe']],
    [['cafe-x1'], ['cafe-x1']],
    [['hooks2'], ['hooks2']],
    [['1-shop'], ['1-shop']],
  ])('%j of --subscription hold the words %j', (subscription, words) => {
    expect(eventFilters({ subscription }, NOON).subscriptionWords).toEqual(words);
  });

  test.each(['cafe-1', 'CAFE1', '1', '-7a', '42-'])('%s of --subscription is part of an id', (text) => {
    expect(refused({ subscription: [text] })[0]).toBe(
      `--subscription: '${text}' is not a GUID such as ${ID}`,
    );
  });

  test('with ids between other words are their ids alone', () => {
    expect(queries({ id: [`event ${ID}, event ${OTHER}`] })).toEqual([
      `eq(eventId,${ID})`,
      `eq(eventId,${OTHER})`,
    ]);
    expect(queries({ subscription: [`the log of ${ID}, of today`] })).toEqual([`eq(subscriptionId,${ID})`]);
  });
});

describe('the values of a file for --where', () => {
  const at = forEachTest(createHome);

  test('are its lines, without white space around them', async () => {
    const file = path.join(at.folder, 'orders');
    await writeFile(file, '\ufeffa-1 \n\tb\ufeffb\n \nc-3\r\n');
    const keep = eventFilters({ where: [`order in @${file}`] }, NOON).createKeep();
    const items = ['a-1', 'b\ufeffb', 'bb', 'c-3', ''].map((order) => Buffer.from(JSON.stringify({ order })));
    const kept = keep?.(Items.of(items)).texts().map(String);
    expect(kept).toEqual([0, 1, 3].map((index) => String(items[index])));
  });

  test('cannot be those of a file that is not there, nor of a dash', () => {
    const missing = path.join(at.folder, 'missing');
    const fault = 'cannot be read: no such file or directory (ENOENT)';
    expect(refused({ where: [`order in @${missing}`] })).toEqual([
      `--where: @${missing} ${fault}`,
      undefined,
    ]);
    expect(refused({ where: ['order in @-'] })).toEqual([
      `--where: @- ${fault}`,
      '@/dev/stdin reads standard input',
    ]);
    expect(() => eventFilters({ where: [`order in @${missing}`] }, NOON)).toThrow(
      expect.objectContaining({ cause: expect.objectContaining({ code: 'ENOENT' }) }),
    );
  });
});

describe('the settings of a run', () => {
  const filtersWith = (saved: SavedProfile, flags: FilterFlags & SettingFlags = {}) => {
    const context = createContext();
    const reporter = fakeReporter();
    const settings = new RunSettings(flags, context, { version: 1, profiles: { default: saved } });
    return { filters: filtersOf({ flags, settings, context, reporter }), said: reporter.said };
  };

  test('give the zone, the time and the field of names', () => {
    const { filters, said } = filtersWith(
      { timezone: 'Europe/Berlin', 'name-field': 'data.customer' },
      { since: '08:00', subscription: ['billing'], from: 'old' },
    );
    expect(filters.queries(NOON).map((query) => queryString(query))).toEqual([
      'gt(createdOn,2026-11-20T07:00:00Z)',
    ]);
    expect(filters.nameField).toMatchObject({ text: 'data.customer' });
    expect(filters).toMatchObject({ marketplaces: [], marketplaceChoice: undefined });
    expect(said).toEqual([]);
    expect(refusalOf(() => filtersWith({ 'name-field': 'a..b' }))[0]).toContain(
      "the profile 'default' (name-field)",
    );
    const day = filtersWith({}, { day: 'today' }).filters;
    expect(day.after?.text).toBe('2026-11-20');
  });

  test('limit events to marketplaces, which is said', () => {
    const saved = filtersWith({ marketplace: '1,2' });
    expect(saved.filters).toMatchObject({ marketplaces: ['1', '2'], marketplaceChoice: 'settings' });
    expect(saved.said).toEqual([
      'notice: only events of marketplaces 1, 2, by your settings; --marketplace all shows all',
    ]);
    const typed = filtersWith({ marketplace: '1,2' }, { marketplace: '3', type: ['a'] });
    expect(typed.filters).toMatchObject({ marketplaces: ['3'], marketplaceChoice: 'line' });
    expect(typed.filters.eventTypes).toEqual(['a']);
    expect(typed.said).toEqual(['notice: only events of marketplace 3']);
    const all = filtersWith({ marketplace: '1,2' }, { marketplace: 'all' });
    expect(all.filters).toMatchObject({ marketplaces: [], marketplaceChoice: 'line' });
    expect(all.said).toEqual([]);
  });
});
