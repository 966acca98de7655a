import { cellWidth, widest } from '../terminal/cell-width.ts';

/** Shown for a missing or null value. */
export const NONE = '-';
/** Columns of the terminal between two columns of a table. */
export const GAP = 2;

/** A text, or one that depends on the width of its column, as a bar does. */
export type CellText = string | ((width: number) => string);

/** A column of a table before its width is known. Of the optional members, those that are absent are told from the texts. */
export interface ColumnHead {
  /** The same at all widths. */
  readonly title: string;
  readonly kind?: ColumnKind;
  /** A column with a higher number is left out earlier. 0, the default, is left out only if nothing else makes room. */
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

/** A column as it is drawn. */
export interface Column {
  /** The index of its cell in a row. */
  readonly index: number;
  readonly title: string;
  readonly kind: ColumnKind;
  /** In columns of the terminal. */
  readonly width: number;
}

/** The kinds of cells that are cut, aligned or coloured in different ways. A `bar` takes what the others leave. */
export type ColumnKind = 'time' | 'id' | 'status' | 'number' | 'text' | 'bar';

type Rows = readonly (readonly CellText[])[];

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
 * The forms of a time from wide to narrow: date and time unchanged except for the `T`; without the fraction; without
 * the year; without the date.
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
const [WITHOUT_FRACTION, WITHOUT_YEAR, WITHOUT_DATE] = [1, 2, 3];

/** The widest form of a time that fits, or the text itself. */
export function timeWithin(text: string, width: number): string {
  return timeForms(text).find((form) => cellWidth(form) <= width) ?? text;
}

/** Columns as wide as the rows at hand need: nothing is cut. A bar has its greatest width. */
export function wholeColumns(heads: readonly ColumnHead[], rows: Rows): Column[] {
  return heads.map((head, index) => {
    const texts = textsOf(rows, index);
    const kind = kindOf(head, texts);
    const width = kind === 'bar' ? (head.most ?? PLAIN_BAR) : widest([head.title, ...texts]);
    return { index, title: head.title, kind, width };
  });
}

const PLAIN_BAR = 30;
/** Text is cut to this width before another column is left out. */
const READABLE = 10;
/** The width of SUCCESS, which later rows may have. */
const SHORTEST_STATUS = 7;
/** A bar shows nothing below this width. */
const SHORTEST_BAR = 4;
/** The width of the beginning of a GUID, enough to recognise it, and an ellipsis. */
const SHORT_ID = 9;
/** From this width on, ids of events are whole: a terminal of 80 columns, less the mark of the selected row in browse. */
const ROOM_FOR_IDS = 78;

/**
 * Divides `room` among the columns. If there is not enough, each of these is done, in this order, until there is: bars
 * and spare texts become narrower, fractions of seconds go, spare columns go, then the date if all rows share it, then
 * constant columns, the last spare column, the year; texts are cut; ids are cut; titles are cut; columns go from the right. What turns
 * out to fit after all comes back, the last concession first.
 *
 * `isComplete`: no rows follow, so that what all of these share may be left out.
 */
export function fitColumns(
  heads: readonly ColumnHead[],
  rows: Rows,
  room: number,
  isComplete = false,
): Column[] {
  const drafts = heads.map((head, index) => new Draft(head, index, textsOf(rows, index), isComplete));
  const fromRight = drafts.slice(1).reverse();
  const shown = () => drafts.filter(({ isShown }) => isShown);
  const left = () => shown().reduce((rest, { width }) => rest - width - GAP, room + GAP);
  const fits = () => left() >= 0;

  const times = drafts.filter(({ kind }) => kind === 'time');
  const spares = fromRight.filter(({ spare }) => spare > 0).sort((a, b) => b.spare - a.spare);
  const keepsIds = room >= ROOM_FOR_IDS;
  const narrow = (draft: Draft) => () => draft.cutTo(draft.least);
  const leaveOut = (draft: Draft) => () => draft.leaveOut();
  const shorten = (form: number) => (draft: Draft) => () => draft.setForm(form);
  const ids = fromRight.concat(drafts.slice(0, 1)).filter(({ kind }) => kind === 'id');
  const concessions: [Draft, () => void][] = (
    [
      [drafts.filter(({ kind }) => kind === 'bar'), narrow],
      [times, shorten(WITHOUT_FRACTION)],
      [spares.filter(({ kind }) => kind === 'text'), narrow],
      [spares.filter(({ spare }) => spare > 1), leaveOut],
      [times.filter(({ sharesDate }) => sharesDate), shorten(WITHOUT_DATE)],
      [fromRight.filter(({ isConstant }) => isConstant), leaveOut],
      [spares.filter(({ spare }) => spare === 1), leaveOut],
      [times.filter(({ sharesYear }) => sharesYear), shorten(WITHOUT_YEAR)],
    ] as const
  ).flatMap(([some, concede]) => some.map((draft): [Draft, () => void] => [draft, concede(draft)]));
  const made: [Draft, () => void][] = [];
  for (const [draft, concede] of concessions) {
    if (fits()) break;
    made.push([draft, draft.remembered()]);
    concede();
  }
  for (const [draft, takeBack] of made.reverse()) {
    const again = draft.remembered();
    takeBack();
    if (!fits()) again();
  }
  cutTexts(shown(), -left());
  const others = fromRight.filter(({ head, isShown }) => isShown && !(keepsIds && head.isWhole));
  const last: (() => void)[] = [
    ...drafts.filter(({ kind }) => kind === 'bar').map(leaveOut),
    ...ids.filter(({ head }) => !head.isWhole).map(shorten(1)),
    ...(keepsIds ? [] : ids.filter(({ head }) => head.isWhole).map(shorten(1))),
    ...fromRight.map((draft) => () => draft.cutTitle()),
    ...others.map(leaveOut),
    () => drafts[0]?.cutTo(Math.max(1, room)),
  ];
  for (const concede of last) {
    if (fits()) break;
    concede();
    cutTexts(shown(), -left());
  }
  const grown = [...shown().filter(({ kind }) => kind === 'text'), ...shown()];
  for (const draft of grown) draft.grow(left());
  return shown().map((draft) => draft.column());
}

/** Cuts this much off texts, always off the widest, but keeps them readable. */
function cutTexts(drafts: readonly Draft[], excess: number): void {
  const texts = drafts.filter(({ kind }) => kind === 'text');
  for (let rest = excess; rest > 0; rest--) {
    const [widestText] = texts.filter(({ width, least }) => width > least).sort((a, b) => b.width - a.width);
    if (!widestText) return;
    widestText.cutTo(widestText.width - 1);
  }
}

/** A column whose width is not decided yet. */
class Draft {
  readonly head: ColumnHead;
  readonly kind: ColumnKind;
  readonly spare: number;
  readonly least: number;
  readonly isConstant: boolean;
  /** True if all rows have times of the same date. */
  readonly sharesDate: boolean;
  /** True if the times at hand are of the same year. */
  readonly sharesYear: boolean;
  readonly #index: number;
  /** The widths of its values in each form, the complete form first. */
  readonly #forms: readonly number[];
  #form = 0;
  #cut = Number.POSITIVE_INFINITY;
  #isTitleCut = false;
  isShown = true;

  constructor(head: ColumnHead, index: number, texts: readonly string[], isComplete: boolean) {
    this.head = head;
    this.kind = kindOf(head, texts);
    this.spare = head.spare ?? 0;
    this.least = head.least ?? (this.kind === 'bar' ? SHORTEST_BAR : READABLE);
    this.isConstant = head.isConstant === true || (isComplete && this.kind === 'status' && areShared(texts));
    const times = this.kind === 'time' ? texts.filter((text) => text !== NONE) : [];
    this.sharesDate = isComplete && areShared(times.map((text) => text.slice(0, 10)));
    this.sharesYear = new Set(times.map((text) => text.slice(0, 4))).size === 1;
    this.#index = index;
    this.#forms = formWidths(this.kind, texts, head);
  }

  get width(): number {
    const least = this.kind === 'status' ? SHORTEST_STATUS : 0;
    const title = this.#isTitleCut ? least : cellWidth(this.head.title);
    return Math.min(this.#cut, Math.max(this.#forms[this.#form] as number, title));
  }

  setForm(form: number): void {
    this.#form = Math.max(this.#form, Math.min(form, this.#forms.length - 1));
  }

  /** Makes the column as narrow as its values. */
  cutTitle(): void {
    this.#isTitleCut = true;
  }

  leaveOut(): void {
    this.isShown = false;
  }

  cutTo(width: number): void {
    this.#cut = Math.min(this.#cut, width);
  }

  /** Returns a function that restores the column as it is now. */
  remembered(): () => void {
    const [form, cut, isShown] = [this.#form, this.#cut, this.isShown];
    return () => {
      this.#form = form;
      this.#cut = cut;
      this.isShown = isShown;
    };
  }

  /** Restores what was cut, if this many more columns of the terminal allow it. */
  grow(more: number): void {
    const room = this.width + more;
    this.#cut = room;
    if (cellWidth(this.head.title) <= room) this.#isTitleCut = false;
    while (this.#form > 0 && (this.#forms[this.#form - 1] as number) <= room) this.#form--;
  }

  column(): Column {
    return { index: this.#index, title: this.head.title, kind: this.kind, width: this.width };
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
