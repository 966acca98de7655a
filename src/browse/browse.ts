import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import type { EventFilters } from '../events/event-filters.ts';
import type { FilterFlags } from '../events/event-flags.ts';
import type { FoundPage } from '../events/merge-pages.ts';
import type { Items } from '../json/items.ts';
import { loadDraw } from '../output/table.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { loadWidths } from '../terminal/cell-width.ts';
import { paletteOf, takesUnicode } from '../terminal/palette.ts';
import { type TimeZone, UTC, zoneOf } from '../time/time-zone.ts';
import { eventLines, screenLines } from './browse-views.ts';
import { Browsing } from './browsing.ts';
import { copyEventId } from './event-clipboard.ts';
import { EventList, type Narrowing, narrowingOf } from './event-list.ts';
import { runScreen, type Screen } from './full-screen.ts';
import { type OpenedReport, openReport } from './open-report.ts';

/** Forwards an event to a handler again. Resolves to the outcome in one line. */
export type Replay = (event: Items) => Promise<string>;

/** Shows the events that `find` reads on the terminal until the user leaves. Throws the error of the first page if there is one. */
export async function browse(
  call: Call<FilterFlags & SettingFlags>,
  filters: EventFilters,
  find: (filters: EventFilters) => AsyncGenerator<FoundPage>,
  replay: Replay = async () => 'nothing is replayed: name a handler with --forward-to',
): Promise<void> {
  const { context, reporter } = call;
  const { stdout } = context;
  await loadWidths();
  const failedOnly = filters.statuses.join() === 'FAILED';
  // The key that shows failed events only shows all of them when it is pressed again.
  const events = failedOnly ? filters.withStatuses() : filters;
  const look = {
    constant: events.constantFields,
    draw: await loadDraw(),
    palette: await paletteOf(reporter.stdoutColor),
    unicode: takesUnicode(context),
  };
  const zones = zonesFor(filters.zone, context);
  let zone = filters.zone;
  const size = () => ({ columns: stdout.columns, rows: stdout.rows });
  let redraw = () => {};

  const linesOf = remembered((item: Items, columns) => eventLines(item, columns, look.palette), size);
  const onChange = () => redraw();
  const open = (failedOnly: boolean) =>
    new EventList(find(failedOnly ? filters.withStatuses('FAILED') : events));
  const narrowing = (typed: string) => narrowingOf(typed, context.clock.now(), filters.zone);
  const browsing = new Browsing({ open, failedOnly, narrowing, size, linesOf, onChange });
  await browsing.shown.list.more();
  const { problem } = browsing.shown.list;
  if (problem) throw problem;
  browsing.shown.update();
  browsing.settle();

  const tell = (message: string) => {
    browsing.message = message;
    redraw();
  };
  const reports: Promise<OpenedReport>[] = [];
  const report = () => {
    browsing.message = 'making the report';
    const opened = openReport({ ...call, flags: narrowed(call.flags, browsing.narrowings) });
    reports.push(opened);
    opened.then(
      ({ message }) => tell(message),
      (error: Error) => tell(error.message),
    );
  };
  const screen: Screen = {
    draw: () => screenLines(browsing, linesOf, size(), { ...look, zone }),
    press: (key) => {
      const request = browsing.press(key);
      if (request === 'copy') void copyEventId(browsing.current, context).then(tell);
      else if (request === 'report') report();
      else if (request === 'zone') {
        zone = zones[(zones.indexOf(zone) + 1) % zones.length] as TimeZone;
        browsing.message = `times in ${zone.name}`;
      } else if (request === 'replay' && browsing.current) {
        browsing.message = 'replaying';
        void replay(browsing.current).then(tell);
      }
      return request === 'leave';
    },
    onReady: (ready) => {
      redraw = ready;
    },
  };
  try {
    await runScreen(screen, context);
  } finally {
    for (const opened of reports) await opened.then(({ remove }) => remove()).catch(() => undefined);
  }
}

/** The zones that a key switches between, the given one first, each once. */
function zonesFor(given: TimeZone, context: Pick<Context, 'machine'>): readonly TimeZone[] {
  const zones = new Map([given, UTC, localZone(context)].map((zone) => [zone?.name, zone]));
  return [...zones.values()].filter((zone) => zone !== undefined);
}

/** Undefined if the machine's zone is not known. */
function localZone(context: Pick<Context, 'machine'>): TimeZone | undefined {
  try {
    return zoneOf('local', context);
  } catch {
    return undefined;
  }
}

/** The flags with the conditions that were added in the list. */
function narrowed<Flags extends FilterFlags>(flags: Flags, narrowings: readonly Narrowing[]): Flags {
  const texts = (flag: Narrowing['flag']) => [
    ...(flags[flag] ?? []),
    ...narrowings.filter((narrowing) => narrowing.flag === flag).map(({ text }) => text),
  ];
  return { ...flags, where: texts('where'), grep: texts('grep') };
}

/** Remembers the lines of the latest event: every key and every redraw needs them. */
function remembered(
  make: (item: Items, columns: number) => readonly string[],
  size: () => { readonly columns: number },
): (item: Items) => readonly string[] {
  let last: { item: Items; columns: number; lines: readonly string[] } | undefined;
  return (item) => {
    const { columns } = size();
    if (last?.item !== item || last.columns !== columns) last = { item, columns, lines: make(item, columns) };
    return last.lines;
  };
}
