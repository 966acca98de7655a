import { cellWidth, cutMiddle, widest } from '../terminal/cell-width.ts';
import {
  type Column,
  type ColumnHead,
  type ColumnKind,
  columnKindOf,
  NONE,
  shownText,
  type TableCell,
  type TableRows,
  textsOf,
  timeForms,
} from './table-columns.ts';

/** Terminal columns between two table columns. */
export const GAP = 2;

/** Indexes of `timeForms`. */
const WITHOUT_FRACTION = 1;
const WITHOUT_YEAR = 2;
const WITHOUT_SECONDS = 3;
const WITHOUT_DATE = 4;
const TIME_FORMS = [0, WITHOUT_FRACTION, WITHOUT_YEAR, WITHOUT_SECONDS, WITHOUT_DATE];

/** Minimum width of text before another column is left out. */
const READABLE = 10;
/** Narrowed text grows back to this width before dates and titles do. */
const FAIR_TEXT_COLUMNS = 36;
/** Text is cut at this width even if it differs only later. */
const MAX_TELLING_COLUMNS = 36;
/** Narrower text is unrecognizable. */
const MIN_TELLING_COLUMNS = 4;
/** The width of SUCCESS, which later rows may have. */
const SHORTEST_STATUS_COLUMNS = 7;
/** Narrower bars show nothing. */
const SHORTEST_BAR_COLUMNS = 4;
/** The beginning of a GUID and an ellipsis. */
const SHORT_ID = 9;
/** Event ids are whole from this width on: 80 columns, less the selection mark in browse. */
const ROOM_FOR_IDS = 78;

/**
 * Fits the columns into `room`, with concessions in this order until they fit: narrow bars, drop fractions of
 * seconds, shorten titles, drop the date that all rows share (it becomes the title) or the year, shorten ids
 * except those of events, narrow texts that have a minimum width, drop seconds if there are several times.
 * Then leave out spare columns, cut titles of short ids, cut texts that distinguish rows, leave out constant
 * columns, and the last spare one. Concessions that turn out to be unnecessary are undone, the last one
 * first. If there still is no room, cut texts, event ids and titles, and leave out columns from the right.
 *
 * `isComplete`: no rows follow, so shared values may be left out.
 */
export function fitColumns(
  heads: readonly ColumnHead[],
  rows: TableRows,
  room: number,
  isComplete: boolean,
): Column[] {
  const drafts = heads.map((head, index) => draftOf(head, index, textsOf(rows, index), isComplete));
  const made = concedeUntilFits(drafts, room);
  for (const concession of made.reverse()) takeBack(concession, drafts, room);
  cutTexts(drafts, room);
  giveUpColumns(drafts, room);
  growIntoRest(drafts, room);
  return shownOf(drafts).map((draft) => {
    const { index, title, kind, isPath, isDistinctive } = draft;
    return {
      index,
      title,
      kind,
      width: widthOf(draft),
      isPath,
      isDistinctive: isDistinctive && kind === 'text',
    };
  });
}

/** The index of a left out column without which two rows look alike; undefined if there is none. */
export function missingColumn(
  heads: readonly ColumnHead[],
  rows: TableRows,
  columns: readonly Column[],
): number | undefined {
  const isShown = new Set(columns.map(({ index }) => index));
  const hidden = heads
    .flatMap(({ restoreOrder }, index) =>
      restoreOrder && !isShown.has(index) ? [{ restoreOrder, index }] : [],
    )
    .sort((a, b) => a.restoreOrder - b.restoreOrder);
  if (hidden.length === 0) return undefined;
  const firstAlike = new Map<string, readonly TableCell[]>();
  const alike = rows.flatMap((row) => {
    const shown = JSON.stringify(columns.map((column) => shownCell(row[column.index], column)));
    const first = firstAlike.get(shown);
    if (!first) firstAlike.set(shown, row);
    return first ? [[first, row] as const] : [];
  });
  return hidden.find(({ index }) => alike.some(([one, other]) => one[index] !== other[index]))?.index;
}

function shownCell(cell: TableCell | undefined, column: Column): string {
  return typeof cell === 'string' ? shownText(cell, column) : '';
}

function draftOf(head: ColumnHead, index: number, texts: readonly string[], isComplete: boolean) {
  const kind = columnKindOf(head, texts);
  const times = kind === 'time' ? texts.filter((text) => text !== NONE) : [];
  const days = times.map((text) => text.slice(0, 10));
  const { title, shortTitle = title, spare = 0, isConstant = false } = head;
  const { isWhole = false, isDistinctive = false, isPath = false } = head;
  const least = head.least ?? (kind === 'bar' ? SHORTEST_BAR_COLUMNS : READABLE);
  return {
    ...{ index, title, longTitle: title, shortTitle, kind, spare, isWhole, isDistinctive, isPath },
    least: isDistinctive ? Math.max(least, distinctiveWidth(texts)) : least,
    // Other columns are cut only as a last resort.
    isNarrowedEarly: kind === 'text' && (spare > 0 || head.least !== undefined),
    isConstant: isConstant || (isComplete && kind === 'status' && areShared(texts)),
    sharedDate: isComplete && areShared(days) ? days[0] : undefined,
    // Later rows may be of another year.
    sharesYear: new Set(times.map((text) => text.slice(0, 4))).size === 1,
    forms: formWidths(kind, texts, head),
    form: 0,
    cut: Number.POSITIVE_INFINITY,
    isNarrow: false,
    isTitleCut: false,
    isShown: true,
  };
}

type Draft = ReturnType<typeof draftOf>;
type Concession = readonly [readonly (Draft | readonly Draft[])[], change: (draft: Draft) => Partial<Draft>];

function shownOf(drafts: readonly Draft[]): Draft[] {
  return drafts.filter(({ isShown }) => isShown);
}

function roomLeft(drafts: readonly Draft[], room: number): number {
  return shownOf(drafts).reduce((rest, draft) => rest - widthOf(draft) - GAP, room + GAP);
}

function fromRight(drafts: readonly Draft[]): Draft[] {
  return drafts.slice(1).reverse();
}

function concessionsOf(drafts: readonly Draft[]): readonly Concession[] {
  const bars = drafts.filter(({ kind }) => kind === 'bar');
  const times = drafts.filter(({ kind }) => kind === 'time');
  // With several times, two titles of one day would be ambiguous.
  const onlyTime = times.length === 1 ? times[0] : undefined;
  const ids = drafts.filter(({ kind, isWhole }) => kind === 'id' && !isWhole);
  const others = fromRight(drafts);
  const spares = others.filter(({ spare }) => spare > 0).sort((a, b) => b.spare - a.spare);
  const without = (form: number) => (draft: Draft) => ({ form: Math.max(draft.form, form) });
  const hidden = () => ({ isShown: false });
  return [
    [bars, () => ({ isNarrow: true })],
    [[times], without(WITHOUT_FRACTION)],
    [drafts.filter(hasShortTitle), ({ shortTitle }) => ({ title: shortTitle })],
    [
      onlyTime?.sharedDate === undefined ? [] : [onlyTime],
      ({ sharedDate = '' }) => ({ form: WITHOUT_DATE, title: sharedDate }),
    ],
    [times.every(({ sharesYear }) => sharesYear) ? [times] : [], without(WITHOUT_YEAR)],
    [ids, () => ({ form: 1 })],
    [
      others.concat(drafts.slice(0, 1)).filter(({ isNarrowedEarly }) => isNarrowedEarly),
      () => ({ isNarrow: true }),
    ],
    [times.length > 1 ? [times] : [], without(WITHOUT_SECONDS)],
    [spares.filter(({ spare }) => spare > 1), hidden],
    // A cut id needs only a cut title.
    [ids, () => ({ isTitleCut: true })],
    [
      drafts.filter(({ isDistinctive, kind }) => isDistinctive && kind === 'text'),
      () => ({ isNarrow: true }),
    ],
    [others.filter(({ isConstant }) => isConstant), hidden],
    [spares.filter(({ spare }) => spare === 1), hidden],
  ];
}

const hasShortTitle = ({ title, shortTitle }: Draft) => shortTitle !== title;

interface MadeConcession {
  readonly drafts: readonly Draft[];
  readonly before: readonly Draft[];
}

function concedeUntilFits(drafts: readonly Draft[], room: number): MadeConcession[] {
  const made: MadeConcession[] = [];
  for (const [some, change] of concessionsOf(drafts))
    for (const group of some.map((one) => [one].flat())) {
      if (roomLeft(drafts, room) >= 0) return made;
      made.push({ drafts: group, before: copiesOf(group) });
      for (const draft of group) Object.assign(draft, change(draft));
    }
  return made;
}

/** Restores what fits; a narrowed text grows only to a fair width. */
function takeBack({ drafts: group, before }: MadeConcession, drafts: readonly Draft[], room: number): void {
  const conceded = copiesOf(group);
  assignAll(group, before);
  if (roomLeft(drafts, room) >= 0) return;
  assignAll(group, conceded);
  const [draft] = group;
  const isNarrowedText = draft?.kind === 'text' && draft.isNarrow && before[0]?.isNarrow === false;
  if (!isNarrowedText) return;
  const widened = widthOf(draft) + Math.max(0, roomLeft(drafts, room));
  Object.assign(draft, { isNarrow: false, cut: Math.max(draft.least, Math.min(FAIR_TEXT_COLUMNS, widened)) });
}

function copiesOf(drafts: readonly Draft[]): Draft[] {
  return drafts.map((draft) => ({ ...draft }));
}

function assignAll(drafts: readonly Draft[], states: readonly Draft[]): void {
  for (const [index, draft] of drafts.entries()) Object.assign(draft, states[index]);
}

function giveUpColumns(drafts: readonly Draft[], room: number): void {
  const keepsIds = room >= ROOM_FOR_IDS;
  const bars = drafts.filter(({ kind }) => kind === 'bar');
  const others = fromRight(drafts);
  const first = drafts.slice(0, 1);
  const eventIds = [...others, ...first].filter(({ kind, isWhole }) => kind === 'id' && isWhole);
  const lastResorts: readonly (readonly [readonly Draft[], (draft: Draft) => Partial<Draft>])[] = [
    [bars, () => ({ isShown: false })],
    [keepsIds ? [] : eventIds, () => ({ form: 1 })],
    [others, () => ({ isTitleCut: true })],
    // Half a name is better than none.
    [others.filter(({ isDistinctive }) => isDistinctive), () => ({ least: READABLE, isNarrow: false })],
    [others.filter(({ isWhole }) => !(keepsIds && isWhole)), () => ({ isShown: false })],
    [first, () => ({ cut: Math.max(1, room) })],
  ];
  for (const [some, change] of lastResorts)
    for (const draft of shownOf(some)) {
      if (roomLeft(drafts, room) >= 0) return;
      Object.assign(draft, change(draft));
      cutTexts(drafts, room);
    }
}

function widthOf(draft: Draft): number {
  const { title, longTitle, kind, forms, form, least, cut, isNarrow, isTitleCut } = draft;
  const isStatusUnderShortTitle = kind === 'status' && (isTitleCut || title !== longTitle);
  const leastTitle = isStatusUnderShortTitle ? SHORTEST_STATUS_COLUMNS : 0;
  const whole = Math.max(forms[form] as number, leastTitle, isTitleCut ? 0 : cellWidth(title));
  return Math.min(whole, cut, isNarrow ? least : Number.POSITIVE_INFINITY);
}

function growIntoRest(drafts: readonly Draft[], room: number): void {
  const shown = shownOf(drafts);
  const isOneTime = shown.filter(({ kind }) => kind === 'time').length === 1;
  // Adjacent times keep one form.
  const growing = shown.filter(({ kind }) => kind !== 'time' || isOneTime);
  for (const draft of [...growing.filter(({ kind }) => kind === 'text'), ...growing])
    grow(draft, widthOf(draft) + roomLeft(drafts, room));
}

function grow(draft: Draft, room: number): void {
  Object.assign(draft, { cut: room, isNarrow: false });
  draft.form = TIME_FORMS.find((form) => form === draft.form || isWider(draft, form, room)) ?? draft.form;
  // A day is not a title for times with a date.
  const isDay = draft.title === draft.sharedDate && draft.form === WITHOUT_DATE;
  if (!isDay && cellWidth(draft.longTitle) <= room) draft.title = draft.longTitle;
  if (cellWidth(draft.title) <= room) draft.isTitleCut = false;
}

/** Seconds stay where they are shown. */
function isWider({ form: present, forms }: Draft, form: number, room: number): boolean {
  return form < present && form !== WITHOUT_SECONDS && (forms[form] ?? 0) <= room;
}

/** Cuts the widest text, a column at a time, down to its minimum. */
function cutTexts(drafts: readonly Draft[], room: number): void {
  const texts = shownOf(drafts).filter(({ kind }) => kind === 'text');
  for (let excess = -roomLeft(drafts, room); excess > 0; excess--) {
    const [widestText] = texts
      .filter((draft) => widthOf(draft) > draft.least)
      .sort((a, b) => widthOf(b) - widthOf(a));
    if (!widestText) return;
    widestText.cut = widthOf(widestText) - 1;
  }
}

/** The minimum width at which distinct texts, cut in the middle, stay distinct. */
function distinctiveWidth(texts: readonly string[]): number {
  const distinct = [...new Set(texts)];
  if (distinct.length < 2) return 0;
  for (let width = MIN_TELLING_COLUMNS; width < MAX_TELLING_COLUMNS; width++)
    if (new Set(distinct.map((text) => cutMiddle(text, width))).size === distinct.length) return width;
  return MAX_TELLING_COLUMNS;
}

function areShared(texts: readonly string[]): boolean {
  return texts.length > 1 && texts.every((text) => text === texts[0]);
}

function formWidths(kind: ColumnKind, texts: readonly string[], { most }: ColumnHead): readonly number[] {
  if (most !== undefined) return [most];
  const whole = widest(texts);
  if (kind === 'id') return [whole, SHORT_ID];
  if (kind !== 'time') return [whole];
  const forms = texts.map(timeForms);
  return TIME_FORMS.map((form) => widest(forms.map((each) => each[form] ?? (each[0] as string))));
}
