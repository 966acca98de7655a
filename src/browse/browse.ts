import path from 'node:path';
import type { Call } from '../command.ts';
import type { Context, Output } from '../context.ts';
import { ExitCode } from '../errors.ts';
import { temporaryFolder } from '../files/folders.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import type { FilterFlags } from '../filters/filter-flags.ts';
import { FILTER_FLAGS } from '../filters/filter-flags.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import { subscriptionIdsOf } from '../formats/item-table.ts';
import { loadDraw } from '../formats/table-drawing.ts';
import { FILTER_KEYS } from '../items/filter-keys.ts';
import { SubscriptionNames } from '../names/subscription-names.ts';
import type { FoundPage } from '../paging/page.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { flagWords } from '../shell-words.ts';
import { withService } from '../sign-in/session.ts';
import { openSearch } from '../sources/find-events.ts';
import { storedEvents } from '../sources/stored-events.ts';
import { loadWidths } from '../terminal/cell-width.ts';
import { paletteOf } from '../terminal/palette.ts';
import { localZone, type TimeZone, UTC } from '../time/time-zone.ts';
import { EventList, type Narrowing } from './browse-rows.ts';
import { eventLines, type ListedColumns, type Look, layOutList, screenLines } from './browse-views.ts';
import { Browsing } from './browsing.ts';
import { copyEvent, copyEventId } from './event-clipboard.ts';
import { runScreen, type Screen } from './full-screen.ts';

type BrowseCall = Call<FilterFlags & SettingFlags>;
type Find = (filters: EventFilters) => AsyncGenerator<FoundPage>;

/** Events per page: few enough to arrive fast, enough for several screens. */
const PAGE_SIZE = 200;
const CONCURRENCY = 2;

export interface BrowseOptions extends Pick<ListedColumns, 'fields'>, Pick<Look, 'help'> {
  readonly filters: EventFilters;
  readonly from: string | undefined;
}

export async function browseEvents(call: BrowseCall, options: BrowseOptions): Promise<void> {
  const { context, reporter } = call;
  const { filters, from } = options;
  if (from !== undefined) {
    const find: Find = (chosen) => storedEvents(from, chosen, { context });
    return showList(call, options, { filters, find, place: from });
  }
  // A line printed meanwhile would appear in the middle of the list.
  const silent = { ...reporter, trace: () => {}, notice: () => {} };
  const { clock, signal } = context;
  const reading = { pageSize: PAGE_SIZE, concurrency: CONCURRENCY, clock, signal };
  await withService({ ...call, reporter: silent }, async (service, settings) => {
    const resolved = await resolveFilters(filters, service, call.reporter);
    const find: Find = async function* (chosen) {
      const { pages } = await openSearch(service, chosen, reading);
      yield* pages;
    };
    const names = new SubscriptionNames(service);
    const place = `${settings.profile}: ${service.baseUrl.host}`;
    const list = { filters: resolved, find, place, names };
    return await showList(call, options, list).finally(() => names.close());
  });
}

interface ShownList {
  readonly filters: EventFilters;
  readonly find: Find;
  readonly place: string;
  readonly names?: SubscriptionNames;
}

/**
 * Shows the list until the user leaves. Throws an error that ended reading, or at once if the first page
 * failed.
 */
async function showList(
  call: BrowseCall,
  { fields, help }: BrowseOptions,
  { filters, find, place, names }: ShownList,
): Promise<void> {
  const { context, reporter } = call;
  await loadWidths();
  const isFailedOnly = filters.onlyStatus === 'FAILED';
  // Pressed again, the key for failed events shows all events.
  const events = isFailedOnly ? filters.withStatuses() : filters;
  const palette = await paletteOf(reporter.stdoutColor);
  const look: Look = {
    marked: filters.grepTexts,
    draw: await loadDraw(palette, reporter.takesUnicode),
    palette,
    unicode: reporter.takesUnicode,
    place,
    help,
    names,
  };
  const reports: Promise<OpenedReport>[] = [];
  const browsing = new Browsing({
    open: (failedOnly) => {
      const chosen = failedOnly ? filters.withStatuses('FAILED') : events;
      return new EventList(chosen, find(chosen));
    },
    isFailedOnly,
    clock: context.clock,
    screen: context.stdout,
    zones: zonesFor(filters.zone, context),
    linesOf: (item, columns, zone) => eventLines(item, columns, zone, palette),
    layOut: (some, constant, zone, columns) =>
      layOutList(some, { constant, fields, nameField: filters.nameField, names }, zone, columns),
    copyId: (item) => copyEventId(item, context),
    copyEvent: (item) => copyEvent(item, context),
    report: async (narrowings) => {
      const report = openReport(call, narrowings);
      reports.push(report);
      return (await report).outcome;
    },
    onChange: () => screen.redraw(),
  });
  const screen: Screen = {
    lines: () => screenLines(browsing, look),
    press: (key) => browsing.press(key),
    redraw: () => {},
  };
  await browsing.list.more();
  if (browsing.list.problem) throw browsing.list.problem;
  await names?.learn(browsing.list.items.flatMap(subscriptionIdsOf));
  browsing.settle();
  try {
    await runScreen(screen, context);
    // The screen showed only its first line, without the next step.
    if (browsing.list.problem) throw browsing.list.problem;
  } finally {
    await browsing.list.close().catch(() => undefined);
    for (const report of reports) await report.then(({ remove }) => remove()).catch(() => undefined);
  }
}

function zonesFor(given: TimeZone, context: Pick<Context, 'machine'>): [TimeZone, ...TimeZone[]] {
  const others = new Map([UTC, localZone(context)].map((zone) => [zone.name, zone]));
  others.delete(given.name);
  return [given, ...others.values()];
}

/** Without the status: a report covers failures whatever the list shows. */
const REPORT_FLAGS = [
  ...FILTER_FLAGS.filter((name) => name !== FILTER_KEYS.publishStatus.flag),
  ...['from', 'timezone', 'profile', 'baseUrl', 'vendor'],
];

interface OpenedReport {
  /** One line for the screen. */
  readonly outcome: string;
  readonly remove: () => Promise<void>;
}

async function openReport(call: BrowseCall, narrowings: readonly Narrowing[]): Promise<OpenedReport> {
  const folder = await temporaryFolder('hooktrail-report-');
  const file = path.join(folder.path, 'report.html');
  const outcome = await runReport(file, call, narrowings).catch((error: Error) => error.message);
  return { outcome, remove: () => folder.remove() };
}

/** Runs `events report --open` for the same events. */
async function runReport(
  file: string,
  { flags, context, invoke }: BrowseCall,
  narrowings: readonly Narrowing[],
): Promise<string> {
  const narrowed = narrowings.map(({ flag, text }) => `--${flag}=${text}`);
  const said: string[] = [];
  // The list occupies the terminal.
  const output: Output = {
    ...context.stderr,
    isTerminal: false,
    columns: 80,
    colorDepth: 1,
    write: async (chunk) => void said.push(chunk.toString()),
  };
  const code = await invoke(
    ['events', 'report', file, '--open', '--quiet', ...flagWords(flags, REPORT_FLAGS), ...narrowed],
    { ...context, stdout: output, stderr: output },
  );
  if (code === ExitCode.done) return `the report is ${file} until you leave`;
  return said.join('').split('\n')[0] || `the report ended with ${code}`;
}
