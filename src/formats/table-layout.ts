import { cellWidth, cutMiddle, cutToWidth, widest } from '../terminal/cell-width.ts';

/** Shown for a missing or null value. */
export const NONE = '-';
/** Columns of the terminal between two columns of a table. */
export const GAP = 2;

/** A text, or a bar, which is drawn for the width of its column. */
export type TableCell = string | BarCell;
interface BarCell {
  /** Its length, of 1. */
  readonly share: number;
  readonly draw: (width: number) => string;
  readonly paint?: (text: string) => string;
}

/**
 * A column of a table before its width is known. Without a `kind` it has the one that its title and its texts
 * show.
 */
export interface ColumnHead {
  readonly title: string;
  /** Stands in its place where there is little room. */
  readonly shortTitle?: string;
  readonly kind?: ColumnKind;
  /**
   * A column with a higher number is left out earlier. 0, the default, is left out only if nothing else makes
   * room.
   */
  readonly spare?: number;
  /** True if the filters give every row the same value, so that it may be left out. */
  readonly isConstant?: boolean;
  /** The least width to which a text or a bar is cut before a column is left out. */
  readonly least?: number;
  /**
   * True if its values tell rows apart: they are cut in their middle, and only as far as they stay different.
   */
  readonly isTelling?: boolean;
  /**
   * The order in which left out columns come back where rows would look alike without them; the lowest
   * first.
   */
  readonly tellsApart?: number | undefined;
  /** The greatest width of a bar; columns of texts have none. */
  readonly most?: number;
  /**
   * True if it is never cut from 80 columns on, and without `spare` not left out: the id of an event.
   */
  readonly isWhole?: boolean;
  /** True if its texts are field paths, whose last names tell most: they are cut at their front. */
  readonly isPath?: boolean;
}

/** A column whose cells are of a known kind, for a format that aligns nothing. */
export interface KindedColumn {
  /** The index of its cell in a row. */
  readonly index: number;
  readonly title: string;
  readonly kind: ColumnKind;
}

export interface Column extends KindedColumn {
  /** In columns of the terminal. */
  readonly width: number;
  /** True if its texts are cut at their front. */
  readonly isPath?: boolean;
  /** True if its texts are cut in their middle. */
  readonly isTelling?: boolean;
}

/**
 * The kinds of cells that are cut, aligned or coloured in different ways. A `bar` takes what the others
 * leave.
 */
export type ColumnKind = 'time' | 'id' | 'status' | 'number' | 'text' | 'bar';

type Rows = readonly (readonly TableCell[])[];

/** Behind a time that is the edge of what was looked at. */
export const OR_EARLIER = ' or earlier';

const TIME = /^(\d{4})-(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?( or earlier)?$/;
const ID = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;
const NUMBER = /^[<>]?-?\d[\d,]*(\.\d+)?([eE][+-]?\d+)?( %)?$/;

/** A GUID in braces, and some more. */
const LONGEST_ID_COLUMNS = 40;

function kindOf({ title, kind, isWhole }: ColumnHead, texts: readonly string[]): ColumnKind {
  if (kind) return kind;
  if (/(status|state)$/i.test(title)) return 'status';
  const present = texts.filter((text) => text !== NONE);
  if (present.length === 0) return 'text';
  if (isWhole && widest(present) <= LONGEST_ID_COLUMNS) return 'id';
  if (present.every((text) => TIME.test(text))) return 'time';
  if (present.every((text) => ID.test(text))) return 'id';
  return present.every((text) => NUMBER.test(text)) ? 'number' : 'text';
}

/**
 * The forms of a time from wide to narrow: date and time unchanged except for the `T`; without the fraction;
 * without the year; without the seconds too; without the date.
 */
function timeForms(text: string): readonly string[] {
  const match = TIME.exec(text);
  if (!match) return [text];
  const [, year, day, time = '', fraction = '', offset = '', edge = ''] = match;
  const zone = offset + edge;
  return [
    `${year}-${day} ${time}${fraction}${zone}`,
    `${year}-${day} ${time}${zone}`,
    `${day} ${time}${zone}`,
    `${day} ${time.slice(0, -3)}${zone}`,
    `${time}${zone}`,
  ];
}
const WITHOUT_FRACTION = 1;
const WITHOUT_YEAR = 2;
const WITHOUT_SECONDS = 3;
const WITHOUT_DATE = 4;
const TIME_FORMS = [0, WITHOUT_FRACTION, WITHOUT_YEAR, WITHOUT_SECONDS, WITHOUT_DATE];

/** The widest form of a time that fits, or the text itself. */
export function timeWithin(text: string, width: number): string {
  return timeForms(text).find((form) => cellWidth(form) <= width) ?? text;
}

/** The kinds of the columns, as the rows at hand show them. Nothing is measured, so any text will do. */
export function kindedColumns(heads: readonly ColumnHead[], rows: Rows): KindedColumn[] {
  return heads.map((head, index) => ({
    index,
    title: head.title,
    kind: kindOf(head, textsOf(rows, index)),
  }));
}

/** Columns as wide as the rows at hand need: nothing is cut. A bar has its greatest width. */
export function wholeColumns(heads: readonly ColumnHead[], rows: Rows): Column[] {
  return kindedColumns(heads, rows).map((column) => {
    const { index, title } = column;
    const width = heads[index]?.most ?? widest([title, ...textsOf(rows, index)]);
    return { ...column, width };
  });
}

/** Text is cut to this width before another column is left out. */
const READABLE = 10;
/** A text that was narrowed gets this much back before dates and titles are whole again. */
const FAIR_TEXT_COLUMNS = 36;
/** Texts that differ only behind this width are cut nevertheless. */
const MOST_TELLING_COLUMNS = 36;
/** A narrower text cannot be recognised. */
const LEAST_TELLING_COLUMNS = 4;
/** The width of SUCCESS, which later rows may have. */
const SHORTEST_STATUS_COLUMNS = 7;
/** A bar shows nothing below this width. */
const SHORTEST_BAR_COLUMNS = 4;
/** The width of the beginning of a GUID, enough to recognise it, and an ellipsis. */
const SHORT_ID = 9;
/**
 * From this width on, ids of events are whole: a terminal of 80 columns, less the mark of the selected row in
 * browse.
 */
const ROOM_FOR_IDS = 78;

/**
 * Divides `room` among the columns. If there is not enough, each of these is done, in this order, until there
 * is: bars become narrower, fractions of seconds go, titles become short, then the date if all rows share it
 * (as the title) or the year; ids become short but for those of events, texts with a least width narrow, and
 * where there are several times their seconds go. Then columns go: spare ones; titles of short ids are cut,
 * and what tells rows apart as far as it still does; then constant columns go, and the last spare one.
 * What turns out to fit after all comes back, the last concession first. If there still is not enough, texts
 * are cut, then ids of events and titles, and columns go from the right.
 *
 * `isComplete`: no rows follow, so that what all of these share may be left out.
 */
export function fitColumns(
  heads: readonly ColumnHead[],
  rows: Rows,
  room: number,
  isComplete = false,
): Column[] {
  const drafts = heads.map((head, index) => draftOf(head, index, textsOf(rows, index), isComplete));
  const made = concedeUntilFits(drafts, room);
  for (const concession of made.reverse()) takeBack(concession, drafts, room);
  cutTexts(drafts, room);
  giveUpColumns(drafts, room);
  growIntoRest(drafts, room);
  return shownOf(drafts).map((draft) => {
    const { index, title, kind, isPath, isTelling } = draft;
    return { index, title, kind, width: widthOf(draft), isPath, isTelling: isTelling && kind === 'text' };
  });
}

/** A cell as its column shows it, before it is painted and padded. */
export function shownText(cell: string, { kind, width, isPath, isTelling }: Column): string {
  if (kind === 'time') return timeWithin(cell, width);
  if (isPath) return lastNames(cell, width);
  return isTelling ? cutMiddle(cell, width) : cutToWidth(cell, width);
}

/** As many of the last names of a field path as there is room for: `…amount.currency`. */
function lastNames(path: string, width: number): string {
  if (cellWidth(path) <= width) return path;
  // A dot within a name has a backslash before it.
  const names = path.split(/(?<!\\)\./);
  for (let first = 1; first < names.length; first++) {
    const rest = `…${names.slice(first).join('.')}`;
    if (cellWidth(rest) <= width || first === names.length - 1) return cutToWidth(rest, width);
  }
  return cutToWidth(path, width);
}

/**
 * The index of the column to show as well, since two rows look alike without it; undefined if none do, or if
 * no column tells them apart.
 */
export function missingColumn(
  heads: readonly ColumnHead[],
  rows: Rows,
  columns: readonly Column[],
): number | undefined {
  const isShown = new Set(columns.map(({ index }) => index));
  const hidden = heads
    .flatMap(({ tellsApart }, index) => (tellsApart && !isShown.has(index) ? [{ tellsApart, index }] : []))
    .sort((a, b) => a.tellsApart - b.tellsApart);
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

/** A column whose width is not decided yet. */
function draftOf(head: ColumnHead, index: number, texts: readonly string[], isComplete: boolean) {
  const kind = kindOf(head, texts);
  const times = kind === 'time' ? texts.filter((text) => text !== NONE) : [];
  const days = times.map((text) => text.slice(0, 10));
  const { title, shortTitle = title, spare = 0, isConstant = false } = head;
  const { isWhole = false, isTelling = false, isPath = false } = head;
  const least = head.least ?? (kind === 'bar' ? SHORTEST_BAR_COLUMNS : READABLE);
  return {
    ...{ index, title, longTitle: title, shortTitle, kind, spare, isWhole, isTelling, isPath },
    least: isTelling ? Math.max(least, tellingWidth(texts)) : least,
    // Others are only cut when nothing else helps.
    isNarrowedEarly: kind === 'text' && (spare > 0 || head.least !== undefined),
    isConstant: isConstant || (isComplete && kind === 'status' && areShared(texts)),
    sharedDate: isComplete && areShared(days) ? days[0] : undefined,
    // Those to come may be of another year.
    sharesYear: new Set(times.map((text) => text.slice(0, 4))).size === 1,
    // The widths of its values in each form, the complete form first.
    forms: formWidths(kind, texts, head),
    form: 0,
    cut: Number.POSITIVE_INFINITY,
    isNarrow: false,
    isTitleCut: false,
    isShown: true,
  };
}

type Draft = ReturnType<typeof draftOf>;
/** Columns that are changed one after the other, or some of them together, to make room; and the change. */
type Concession = readonly [readonly (Draft | readonly Draft[])[], change: (draft: Draft) => Partial<Draft>];

function shownOf(drafts: readonly Draft[]): Draft[] {
  return drafts.filter(({ isShown }) => isShown);
}

/** The columns of the terminal that are left; negative if there are too few. */
function roomLeft(drafts: readonly Draft[], room: number): number {
  return shownOf(drafts).reduce((rest, draft) => rest - widthOf(draft) - GAP, room + GAP);
}

/** All but the first, which stays, from the right. */
function fromRight(drafts: readonly Draft[]): Draft[] {
  return drafts.slice(1).reverse();
}

/** What makes room at the least cost for the reader. */
function concessionsOf(drafts: readonly Draft[]): readonly Concession[] {
  const bars = drafts.filter(({ kind }) => kind === 'bar');
  const times = drafts.filter(({ kind }) => kind === 'time');
  // Its title can be the day; two titles of one day would not tell the columns apart.
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
    // Above the beginning of an id the beginning of its title is enough.
    [ids, () => ({ isTitleCut: true })],
    [drafts.filter(({ isTelling, kind }) => isTelling && kind === 'text'), () => ({ isNarrow: true })],
    [others.filter(({ isConstant }) => isConstant), hidden],
    [spares.filter(({ spare }) => spare === 1), hidden],
  ];
}

const hasShortTitle = ({ title, shortTitle }: Draft) => shortTitle !== title;

interface MadeConcession {
  readonly drafts: readonly Draft[];
  /** The columns as they were. */
  readonly before: readonly Draft[];
}

/** Makes concessions until the columns fit, or none is left. Returns those made. */
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

/** Undoes a concession if there is room. A narrow text becomes as wide as it can, up to a fair width. */
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

/** The last resorts: bars and titles go, ids of events are cut on a narrow terminal, columns go. */
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
    // Half of a name is more than none.
    [others.filter(({ isTelling }) => isTelling), () => ({ least: READABLE, isNarrow: false })],
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

/** Restores what was cut as far as there is room: texts first. */
function growIntoRest(drafts: readonly Draft[], room: number): void {
  const shown = shownOf(drafts);
  const isOneTime = shown.filter(({ kind }) => kind === 'time').length === 1;
  // Times side by side have one form.
  const growing = shown.filter(({ kind }) => kind !== 'time' || isOneTime);
  for (const draft of [...growing.filter(({ kind }) => kind === 'text'), ...growing])
    grow(draft, widthOf(draft) + roomLeft(drafts, room));
}

function grow(draft: Draft, room: number): void {
  Object.assign(draft, { cut: room, isNarrow: false });
  draft.form = TIME_FORMS.find((form) => form === draft.form || isWider(draft, form, room)) ?? draft.form;
  // A day is no title above times with their date.
  const isDay = draft.title === draft.sharedDate && draft.form === WITHOUT_DATE;
  if (!isDay && cellWidth(draft.longTitle) <= room) draft.title = draft.longTitle;
  if (cellWidth(draft.title) <= room) draft.isTitleCut = false;
}

/** True if a form is wider than the present one and fits. Seconds stay where they are shown. */
function isWider({ form: present, forms }: Draft, form: number, room: number): boolean {
  return form < present && form !== WITHOUT_SECONDS && (forms[form] ?? 0) <= room;
}

/** Cuts texts until the columns fit, always the widest, but keeps them readable. */
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

/** The least width to which texts that differ are cut in their middle and still differ. */
function tellingWidth(texts: readonly string[]): number {
  const distinct = [...new Set(texts)];
  if (distinct.length < 2) return 0;
  for (let width = LEAST_TELLING_COLUMNS; width < MOST_TELLING_COLUMNS; width++)
    if (new Set(distinct.map((text) => cutMiddle(text, width))).size === distinct.length) return width;
  return MOST_TELLING_COLUMNS;
}

/** True if several rows have the same text, so that it distinguishes none of them. */
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

function textsOf(rows: Rows, index: number): string[] {
  return rows.flatMap((row) => (typeof row[index] === 'string' ? [row[index]] : []));
}
