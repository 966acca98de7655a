import { advise, hooktrailOver } from '../advice.ts';
import { furtherBack } from '../filters/no-match.ts';
import { ADDRESS_HEAD, EVENT_HEADS, FOR_HEAD, secondReceiver } from '../formats/event-columns.ts';
import { formatTraits } from '../formats/format-registry.ts';
import { createItemWriter } from '../formats/item-writer.ts';
import { conditionTexts, printSummary, type SummaryCall, type SummaryOptions } from '../formats/summary.ts';
import { proseLines, windowText } from '../formats/summary-words.ts';
import { type Table, type TableLook, tableWithNote } from '../formats/table.ts';
import { NONE } from '../formats/table-columns.ts';
import { Items } from '../items/items.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type EventWithText, type FindReport, SHOWN_FIELDS } from './find-text.ts';

export async function printFoundTexts(
  report: FindReport,
  options: SummaryOptions,
  call: SummaryCall,
): Promise<void> {
  const { format } = options.format;
  if (!formatTraits(format).hasColumns) return await printItems(report, options, call);
  const { found } = report;
  const table = foundTable(report, options.filters.zone);
  const said = saidOf(report, options);
  await printSummary(
    {
      json: {},
      csv: (guarded) => ({
        titles: ['profile', ...SHOWN_FIELDS, 'for', 'address', 'field'],
        rows: found.map(({ profile, shown, who, address, field }) =>
          [profile, ...SHOWN_FIELDS.map((name) => shown[name]), who, address, field].map((cell) =>
            guarded(cell ?? ''),
          ),
        ),
      }),
      table,
      facts: [said, ...conditionTexts(options.filters)],
      window: report.window,
      lines: (look: TableLook) => {
        const prose = proseLines(said, look).map(look.palette.bold);
        return found.length === 0 ? prose : [...tableWithNote(table, look), '', ...prose];
      },
    },
    options,
    call,
  );
  if (format === 'table') sayNext(report, options, call);
}

async function printItems(
  { found }: FindReport,
  { format }: SummaryOptions,
  { context, reporter }: SummaryCall,
): Promise<void> {
  const writer = await createItemWriter({ ...format, fields: undefined }, context, reporter);
  const texts = found.map(({ profile, field, item }) => {
    const before = `{"profile":${JSON.stringify(profile)},"field":${JSON.stringify(field)},"item":`;
    return Buffer.concat([Buffer.from(before), item, Buffer.from('}')]);
  });
  await writer.write(Items.of(texts), true);
  await writer.end?.();
}

/** Columns for `eventData.body.name`. */
const MIN_PATH_COLUMNS = 20;

function foundTable({ found, profiles }: FindReport, zone: TimeZone): Table {
  const isOfSeveral = profiles.length > 1;
  const isNamed = found.some(({ who }) => who !== undefined);
  const isAddressed = found.some(({ address }) => address !== undefined);
  const addressHead = isAddressed ? ADDRESS_HEAD : EVENT_HEADS.subscriptionId;
  const cellsOf = ({ shown, who, address, field, profile }: EventWithText) => {
    const { createdOn = NONE, publishStatus, eventType, eventId, subscriptionId } = shown;
    const receiver = [...(isNamed ? [who] : []), address ?? subscriptionId];
    const cells = [zone.shown(createdOn), publishStatus, eventType, ...receiver, field, eventId];
    return [...(isOfSeveral ? [profile] : []), ...cells].map((cell) => cell ?? NONE);
  };
  return {
    heads: [
      ...(isOfSeveral ? [{ title: 'profile', kind: 'text' as const, least: 6 }] : []),
      { ...EVENT_HEADS.createdOn, kind: 'time' },
      EVENT_HEADS.publishStatus,
      EVENT_HEADS.eventType,
      ...(isNamed ? [FOR_HEAD, secondReceiver(addressHead)] : [addressHead]),
      { title: 'found in', kind: 'text', least: MIN_PATH_COLUMNS, isPath: true },
      EVENT_HEADS.eventId,
    ],
    rows: found.map(cellsOf),
  };
}

function saidOf(report: FindReport, options: SummaryOptions): string {
  const { text, found, matches, events, profiles, window } = report;
  const have = matches === 1 || events === 1 ? 'has' : 'have';
  const number = matches === 0 ? 'none' : grouped(matches);
  const where = profiles.length > 1 ? ` in ${profiles.length} profiles (${profiles.join(', ')})` : '';
  const shown = found.length < matches ? `; shown: the newest ${grouped(found.length)}` : '';
  const when = window ? `, ${windowText(window, options)}` : '';
  return `${number} of ${eventsText(events)}${where} ${have} '${text}' as a whole word${when}${shown}`;
}

function sayNext(
  { text, found, profiles, window }: FindReport,
  { from, filters }: SummaryOptions,
  { context, reporter }: SummaryCall,
): void {
  if (!context.stdout.isTerminal || !context.stderr.isTerminal) return;
  const [first] = found;
  const profile = profiles.length > 1 ? first?.profile : reporter.runFlags.profile;
  const place = profile && from === undefined ? ['--profile', profile] : [];
  const eventId = first?.shown.eventId;
  if (eventId !== undefined)
    reporter.notice(`next: ${hooktrailOver(from, 'events get', eventId, ...place).textFor({})}`);
  else if (!first) {
    const further = window && from === undefined && furtherBack(window.after, context.clock.now());
    const longer = further ? `${further}; ` : '';
    const search = hooktrailOver(from, 'events search --grep', text, ...filters.words(), ...place);
    reporter.notice(advise`next: ${longer}${search} also finds it inside longer words and in field names`);
  }
}
