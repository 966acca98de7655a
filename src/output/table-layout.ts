import { cellWidth, widest } from '../terminal/cell-width.ts';

/** Shown for a missing or null value. */
export const NONE = '-';
/** Columns of the terminal between two columns of a table. */
export const GAP = 2;

export interface ColumnHead {
  readonly title: string;
  /** Shown where there is no room for the title. */
  readonly short?: string;
  /** Left out first where there is little room. */
  readonly spare?: boolean;
  /** Has the same value in every row, and is left out next. */
  readonly constant?: boolean;
}

/** A column as it is drawn. */
export interface Column {
  /** Which cell of a row. */
  readonly index: number;
  readonly title: string;
  readonly kind: ColumnKind;
  /** In columns of the terminal. */
  readonly width: number;
}

/** The kinds of texts that are shown in different ways. */
export type ColumnKind = 'time' | 'guid' | 'status' | 'number' | 'text';

type Rows = readonly (readonly string[])[];

const TIME = /^(\d{4})-(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/;
const GUID = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;
const NUMBER = /^[<>]?-?\d[\d,]*(\.\d+)?([eE][+-]?\d+)?( %)?$/;

function kindOf(title: string, texts: readonly string[]): ColumnKind {
  if (/(status|state)$/i.test(title)) return 'status';
  const present = texts.filter((text) => text !== NONE);
  if (present.length === 0) return 'text';
  if (present.every((text) => TIME.test(text))) return 'time';
  if (present.every((text) => GUID.test(text))) return 'guid';
  return present.every((text) => NUMBER.test(text)) ? 'number' : 'text';
}

/**
 * The forms of a time from wide to narrow: date and time unchanged except for the `T`; without the fraction; without
 * the year.
 */
export function timeForms(text: string): readonly string[] {
  const match = TIME.exec(text);
  if (!match) return [text];
  const [, year, day, time, fraction = '', zone = ''] = match;
  return [
    `${year}-${day} ${time}${fraction}${zone}`,
    `${year}-${day} ${time}${zone}`,
    `${day} ${time}${zone}`,
  ];
}

/** Columns as wide as the rows at hand need: nothing is cut. */
export function wholeColumns(heads: readonly ColumnHead[], rows: Rows): Column[] {
  return heads.map(({ title }, index) => {
    const texts = textsOf(rows, index);
    return { index, title, kind: kindOf(title, texts), width: widest([title, ...texts]) };
  });
}

/** Text is cut to this width before another column is left out. */
const READABLE = 12;
/** The width of the beginning of a GUID, enough to recognise it, and an ellipsis. */
const SHORT_GUID = 9;

/**
 * Divides `room` among the columns, by the given rows. If there is not enough room, the values that distinguish rows
 * are kept longest: fractions of seconds go first, then spare and constant columns, the year, the ends of ids, the ends
 * of other texts, and columns from the right.
 */
export function fittedColumns(heads: readonly ColumnHead[], rows: Rows, room: number): Column[] {
  const drafts = heads.map((head, index) => new Draft(head, index, textsOf(rows, index)));
  const fromRight = drafts.slice(1).reverse();
  const shown = () => drafts.filter(({ isShown }) => isShown);
  const left = () => shown().reduce((rest, { width }) => rest - width - GAP, room + GAP);

  const concessions: (() => void)[] = [
    ...ofKind(drafts, 'time', (draft) => draft.setForm(1)),
    ...fromRight.map((draft) => () => draft.setTitle('short')),
    ...fromRight.filter(({ head }) => head.spare).map((draft) => () => draft.leaveOut()),
    ...fromRight.filter(({ head }) => head.constant).map((draft) => () => draft.leaveOut()),
    ...ofKind(drafts, 'time', (draft) => draft.setForm(2)),
    ...ofKind(drafts.toReversed(), 'guid', (draft) => draft.setForm(1)),
    () => cut(shown(), -left()),
    ...fromRight.map((draft) => () => {
      draft.leaveOut();
      cut(shown(), -left());
    }),
    () => drafts[0]?.cutTo(Math.max(1, room)),
  ];
  for (const concede of concessions) {
    if (left() >= 0) break;
    concede();
  }
  // Leaving out a column frees more than was needed: the others take what they can use.
  for (const draft of shown()) draft.grow(left());
  return shown().map((draft) => draft.column());
}

function ofKind(drafts: readonly Draft[], kind: ColumnKind, concede: (draft: Draft) => void) {
  return drafts.filter((draft) => draft.kind === kind).map((draft) => () => concede(draft));
}

/** Cuts this much off texts, always off the widest, but keeps them readable. */
function cut(drafts: readonly Draft[], excess: number): void {
  for (let rest = excess; rest > 0; rest--) {
    const widestText = drafts
      .filter(({ kind, width }) => kind === 'text' && width > READABLE)
      .sort((a, b) => b.width - a.width)[0];
    if (!widestText) return;
    widestText.cutTo(widestText.width - 1);
  }
}

/** A column whose width is not decided yet. */
class Draft {
  readonly head: ColumnHead;
  readonly kind: ColumnKind;
  readonly #index: number;
  /** The widths of its values in each form, the complete form first. */
  readonly #forms: readonly number[];
  #form = 0;
  #title: string;
  #cut = Number.POSITIVE_INFINITY;
  isShown = true;

  constructor(head: ColumnHead, index: number, texts: readonly string[]) {
    this.head = head;
    this.kind = kindOf(head.title, texts);
    this.#index = index;
    this.#title = head.title;
    this.#forms = formWidths(this.kind, texts);
  }

  get width(): number {
    return Math.min(this.#cut, Math.max(this.#forms[this.#form] as number, cellWidth(this.#titleText())));
  }

  setForm(form: number): void {
    this.#form = Math.min(form, this.#forms.length - 1);
  }

  setTitle(length: 'long' | 'short'): void {
    const { title, short = title } = this.head;
    this.#title = length === 'long' ? title : short;
  }

  leaveOut(): void {
    this.isShown = false;
  }

  cutTo(width: number): void {
    this.#cut = width;
  }

  /** Restores what was cut, if this many more columns of the terminal allow it. */
  grow(more: number): void {
    const room = this.width + more;
    this.#cut = room;
    while (this.#form > 0 && (this.#forms[this.#form - 1] as number) <= room) this.#form--;
    const earlier = this.#title;
    this.setTitle('long');
    if (cellWidth(this.#titleText()) > room) this.#title = earlier;
  }

  column(): Column {
    return { index: this.#index, title: this.#titleText(), kind: this.kind, width: this.width };
  }

  #titleText(): string {
    // No filter accepts a shortened id, so the column does not have the filter's name.
    if (this.kind !== 'guid' || this.#form === 0) return this.#title;
    return this.head.title === 'eventId' ? 'short id' : `short ${this.head.title}`;
  }
}

function formWidths(kind: ColumnKind, texts: readonly string[]): readonly number[] {
  const whole = widest(texts);
  if (kind === 'guid') return [whole, SHORT_GUID];
  if (kind !== 'time') return [whole];
  return [0, 1, 2].map((form) => widest(texts.map((text) => timeForms(text)[form] ?? text)));
}

function textsOf(rows: Rows, index: number): string[] {
  return rows.map((row) => row[index] as string);
}
