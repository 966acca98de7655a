import { cellWidth, widest } from '../terminal/cell-width.ts';

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
 * A column of a table before its width is known. Of the optional members, those that are absent are told from
 * the texts.
 */
export interface ColumnHead {
  /** The same at all widths. */
  readonly title: string;
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
  /** The greatest width of a bar. */
  readonly most?: number;
  /** True if it is neither cut nor left out from 80 columns on: the id of an event. */
  readonly isWhole?: boolean;
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
}

/**
 * The kinds of cells that are cut, aligned or coloured in different ways. A `bar` takes what the others
 * leave.
 */
export type ColumnKind = 'time' | 'id' | 'status' | 'number' | 'text' | 'bar';

type Rows = readonly (readonly TableCell[])[];

const TIME = /^(\d{4})-(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/;
const ID = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;
const NUMBER = /^[<>]?-?\d[\d,]*(\.\d+)?([eE][+-]?\d+)?( %)?$/;

function kindOf({ title, kind }: ColumnHead, texts: readonly string[]): ColumnKind {
  if (kind) return kind;
  if (/(status|state)$/i.test(title)) return 'status';
  const present = texts.filter((text) => text !== NONE);
  if (present.length === 0) return 'text';
  if (present.every((text) => TIME.test(text))) return 'time';
  if (present.every((text) => ID.test(text))) return 'id';
  return present.every((text) => NUMBER.test(text)) ? 'number' : 'text';
}

/**
 * The forms of a time from wide to narrow: date and time unchanged except for the `T`; without the fraction;
 * without the year; without the date.
 */
function timeForms(text: string): readonly string[] {
  const match = TIME.exec(text);
  if (!match) return [text];
  const [, year, day, time, fraction = '', zone = ''] = match;
  return [
    `${year}-${day} ${time}${fraction}${zone}`,
    `${year}-${day} ${time}${zone}`,
    `${day} ${time}${zone}`,
    `${time}${zone}`,
  ];
}
const WITHOUT_FRACTION = 1;
const WITHOUT_YEAR = 2;
const WITHOUT_DATE = 3;

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
    const { index, kind, title } = column;
    const barWidth = heads[index]?.most ?? PLAIN_BAR;
    const width = kind === 'bar' ? barWidth : widest([title, ...textsOf(rows, index)]);
    return { ...column, width };
  });
}

const PLAIN_BAR = 30;
/** Text is cut to this width before another column is left out. */
const READABLE = 10;
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
 * is: bars and spare texts become narrower, fractions of seconds go, spare columns go, then the date if all
 * rows share it (as the title), then constant columns, the last spare column, the year; texts are cut; ids
 * are cut; titles are cut; columns go from the right. What turns out to fit after all comes back, the last
 * concession first.
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
  const fromRight = drafts.slice(1).reverse();
  const shown = () => drafts.filter(({ isShown }) => isShown);
  const left = () => shown().reduce((rest, draft) => rest - widthOf(draft) - GAP, room + GAP);

  const bars = drafts.filter(({ kind }) => kind === 'bar');
  const times = drafts.filter(({ kind }) => kind === 'time');
  // Its title can be the day; two titles of one day would not tell the columns apart.
  const onlyTime = times.length === 1 ? times[0] : undefined;
  const spares = fromRight.filter(({ spare }) => spare > 0).sort((a, b) => b.spare - a.spare);
  const concessions: readonly Concession[] = [
    [bars, { isNarrow: true }],
    [times, { form: WITHOUT_FRACTION }],
    [spares.filter(({ kind }) => kind === 'text'), { isNarrow: true }],
    [spares.filter(({ spare }) => spare > 1), { isShown: false }],
    [onlyTime?.sharedDate ? [onlyTime] : [], { form: WITHOUT_DATE, title: onlyTime?.sharedDate ?? '' }],
    [fromRight.filter(({ isConstant }) => isConstant), { isShown: false }],
    [spares.filter(({ spare }) => spare === 1), { isShown: false }],
    [times.filter(({ sharesYear }) => sharesYear), { form: WITHOUT_YEAR }],
  ];
  const made: [draft: Draft, before: Draft][] = [];
  for (const [some, change] of concessions)
    for (const draft of some) {
      if (left() >= 0) break;
      made.push([draft, { ...draft }]);
      concede(draft, change);
    }
  for (const [draft, before] of made.reverse()) {
    const conceded = { ...draft };
    Object.assign(draft, before);
    if (left() < 0) Object.assign(draft, conceded);
  }
  cutTexts(shown(), -left());

  const keepsIds = room >= ROOM_FOR_IDS;
  const ids = [...fromRight, ...drafts.slice(0, 1)].filter(({ kind }) => kind === 'id');
  const last: readonly Concession[] = [
    [bars, { isShown: false }],
    [ids.filter(({ isWhole }) => !isWhole), { form: 1 }],
    [ids.filter(({ isWhole }) => isWhole && !keepsIds), { form: 1 }],
    [fromRight, { isTitleCut: true }],
    [fromRight.filter(({ isWhole }) => !(keepsIds && isWhole)), { isShown: false }],
    [drafts.slice(0, 1), { cut: Math.max(1, room) }],
  ];
  for (const [some, change] of last)
    for (const draft of some.filter(({ isShown }) => isShown)) {
      if (left() >= 0) break;
      concede(draft, change);
      cutTexts(shown(), -left());
    }
  for (const draft of [...shown().filter(({ kind }) => kind === 'text'), ...shown()]) grow(draft, left());
  return shown().map((draft) => {
    const { index, title, kind } = draft;
    return { index, title, kind, width: widthOf(draft) };
  });
}

/** A column whose width is not decided yet. */
function draftOf(head: ColumnHead, index: number, texts: readonly string[], isComplete: boolean) {
  const kind = kindOf(head, texts);
  const times = kind === 'time' ? texts.filter((text) => text !== NONE) : [];
  const days = times.map((text) => text.slice(0, 10));
  const { title, spare = 0, isConstant = false, isWhole = false } = head;
  return {
    ...{ index, title, kind, spare, isWhole },
    least: head.least ?? (kind === 'bar' ? SHORTEST_BAR_COLUMNS : READABLE),
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
/** Columns, and how each of them is changed to make room. */
type Concession = readonly [readonly Draft[], change: Partial<Draft>];

function concede(draft: Draft, change: Partial<Draft>): void {
  Object.assign(draft, change, { form: Math.max(draft.form, change.form ?? 0) });
}

function widthOf({ title, kind, forms, form, least, cut, isNarrow, isTitleCut }: Draft): number {
  const shortTitle = kind === 'status' ? SHORTEST_STATUS_COLUMNS : 0;
  const whole = Math.max(forms[form] as number, isTitleCut ? shortTitle : cellWidth(title));
  return Math.min(whole, cut, isNarrow ? least : Number.POSITIVE_INFINITY);
}

/** Restores what was cut, if this many more columns of the terminal allow it. */
function grow(draft: Draft, more: number): void {
  const room = widthOf(draft) + more;
  Object.assign(draft, { cut: room, isNarrow: false });
  if (cellWidth(draft.title) <= room) draft.isTitleCut = false;
  while (draft.form > 0 && (draft.forms[draft.form - 1] as number) <= room) draft.form--;
}

/** Cuts this much off texts, always off the widest, but keeps them readable. */
function cutTexts(drafts: readonly Draft[], excess: number): void {
  const texts = drafts.filter(({ kind }) => kind === 'text');
  for (let rest = excess; rest > 0; rest--) {
    const [widestText] = texts
      .filter((draft) => widthOf(draft) > draft.least)
      .sort((a, b) => widthOf(b) - widthOf(a));
    if (!widestText) return;
    widestText.cut = widthOf(widestText) - 1;
  }
}

/** True if several rows have the same text, so that it distinguishes none of them. */
function areShared(texts: readonly string[]): boolean {
  return texts.length > 1 && texts.every((text) => text === texts[0]);
}

function formWidths(kind: ColumnKind, texts: readonly string[], { most }: ColumnHead): readonly number[] {
  if (kind === 'bar') return [most ?? PLAIN_BAR];
  const whole = widest(texts);
  if (kind === 'id') return [whole, SHORT_ID];
  if (kind !== 'time') return [whole];
  const forms = texts.map(timeForms);
  return [0, 1, 2, 3].map((form) => widest(forms.map((each) => each[form] ?? (each[0] as string))));
}

function textsOf(rows: Rows, index: number): string[] {
  return rows.flatMap((row) => (typeof row[index] === 'string' ? [row[index]] : []));
}
