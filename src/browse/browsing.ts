import type { Clock } from '../context.ts';
import { HooktrailError, UsageError } from '../errors.ts';
import type { Column } from '../formats/table-columns.ts';
import { parseFieldPath } from '../items/field-path.ts';
import { Items } from '../items/items.ts';
import { fieldsOf } from '../items/near-field.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type EventList, type Narrowing, narrowingOf, Rows } from './browse-rows.ts';
import { characterOf, type Key, type Mover, moverOf } from './full-screen.ts';

/** A cover hides the rows and takes the keys: the selected event, the help, or a line being typed. */
export interface Cover {
  readonly kind: 'event' | 'help' | 'filter' | 'condition' | 'field';
  text: string;
  /** The first visible line of the event, or the selected index of `fields`. */
  place: number;
}

export interface ListLayout {
  readonly columns: readonly Column[];
  readonly cellsOf: (item: Items) => readonly string[];
  /** Names the columns left out; undefined if there are none. */
  readonly leftOut: string | undefined;
}

export interface BrowsingParts {
  readonly open: (failedOnly: boolean) => EventList;
  readonly isFailedOnly: boolean;
  readonly clock: Pick<Clock, 'now'>;
  readonly screen: { readonly columns: number; readonly rows: number };
  readonly zones: readonly [TimeZone, ...TimeZone[]];
  readonly linesOf: (item: Items, columns: number, zone: TimeZone) => readonly string[];
  readonly layOut: (
    events: readonly Items[],
    constant: ReadonlySet<string>,
    zone: TimeZone,
    columns: number,
  ) => ListLayout;
  /** Resolves to a one-line outcome. */
  readonly copyId: (item: Items) => Promise<string>;
  readonly copyEvent: (item: Items) => Promise<string>;
  /** Opens a report of the events that also meet these conditions. Resolves to a one-line outcome. */
  readonly report: (narrowings: readonly Narrowing[]) => Promise<string>;
  readonly onChange: () => void;
}

const SYNONYMS: Readonly<Record<string, string>> = {
  ...{ enter: 'return', backspace: 'escape', left: 'escape', right: 'n' },
};
/** Most pages read per key press, so that a filter without matches does not download everything. */
const PAGES_PER_KEY = 20;
const READING = 'reading again';
const OTHER_COVERS: readonly string[] = ['event', 'help', 'field'];
/** Screen rows from which one is used for a note. */
const ROWS_FOR_NOTE = 10;
/** Number of events that determine the columns of the list and the fields offered for grouping. */
const SAMPLE = 200;

/**
 * Holds the state of the screen and changes it with each key; draws nothing. A filter, a condition or a
 * grouping pushes new rows, and Escape pops them.
 */
export class Browsing {
  readonly #parts: BrowsingParts;
  readonly #stack: Rows[];
  cover: Cover | undefined;
  list: EventList;
  zone: TimeZone;
  readonly screen: BrowsingParts['screen'];
  message = '';
  /** The previous events, until the first of the new ones have arrived. */
  #former: EventList | undefined;
  #pagesLeft = PAGES_PER_KEY;
  readonly #linesOf: BrowsingParts['linesOf'];
  readonly #layOut;

  readonly #keysOfRows = {
    g: () => this.#show('field'),
    f: () => this.#readAgain(!this.list.failedOnly),
    r: () => this.#readAgain(this.list.failedOnly),
  };
  /** Keys of rows and covers without text input. One that returns true ends the program. */
  readonly #keys: Readonly<Record<string, Readonly<Record<string, () => true | void>>>> = {
    all: {
      return: () => this.#enter(),
      escape: () => this.#goBack(),
      y: () => this.#copy(this.#parts.copyId),
      Y: () => this.#copy(this.#parts.copyEvent),
      o: () => this.#report(),
      z: () => this.#changeZone(),
      '?': () => this.#show('help'),
      q: () => true,
    },
    events: {
      '/': () => this.#askFilter(),
      w: () => this.#show('condition'),
      ...this.#keysOfRows,
    },
    groups: this.#keysOfRows,
    event: { n: () => this.#step(1), p: () => this.#step(-1) },
  };

  constructor(parts: BrowsingParts) {
    this.#parts = parts;
    this.list = parts.open(parts.isFailedOnly);
    [this.zone] = parts.zones;
    this.#stack = [new Rows([], this.zone)];
    this.screen = parts.screen;
    this.#linesOf = rememberLatest(parts.linesOf);
    this.#layOut = rememberLatest(
      ({ items, filters }: EventList, count: number, zone: TimeZone, columns: number) =>
        parts.layOut(items.slice(0, count), filters.constantFields, zone, columns),
    );
  }

  get rows(): Rows {
    return this.#stack.at(-1) as Rows;
  }

  get kind(): Cover['kind'] | 'events' | 'groups' {
    return this.cover?.kind ?? (this.rows.by ? 'groups' : 'events');
  }

  get current(): Items | undefined {
    return this.rows.by ? undefined : this.rows.items[this.rows.selected];
  }

  get canGoBack(): boolean {
    return this.#stack.length > 1;
  }

  get eventRows(): number {
    return Math.max(2, this.screen.rows - 2);
  }

  get listRows(): number {
    return this.eventRows - (this.leftOut === undefined ? 1 : 2);
  }

  get leftOut(): string | undefined {
    const isList = this.rows.by === undefined && !OTHER_COVERS.includes(this.kind);
    return isList && this.screen.rows >= ROWS_FOR_NOTE ? this.layout.leftOut : undefined;
  }

  /** Follows the first events, so that the columns stay while scrolling. */
  get layout(): ListLayout {
    const { list, zone, screen } = this;
    return this.#layOut(list, Math.min(SAMPLE, list.items.length), zone, screen.columns);
  }

  get fields(): readonly string[] {
    const items = this.list.items.slice(0, SAMPLE).map((item) => item.text(0));
    const wanted = this.cover?.text.trim().toLowerCase() ?? '';
    return fieldsOf(Items.of(items)).filter((field) => field.toLowerCase().includes(wanted));
  }

  get eventLines(): readonly string[] {
    return this.#linesOf(this.current as Items, this.screen.columns, this.zone);
  }

  press(key: Key): boolean {
    this.message = '';
    this.#pagesLeft = PAGES_PER_KEY;
    try {
      if (this.#pressKey(key)) return true;
    } catch (error) {
      this.#tell(error);
    }
    this.settle();
    return false;
  }

  /** Shows an explained error; any other is a defect. */
  #tell(error: unknown): void {
    if (!(error instanceof HooktrailError)) throw error;
    this.message = error.message;
  }

  /** Keeps the selection on the screen, and reads more when it comes near the end. */
  settle(): void {
    const { list, listRows } = this;
    this.#update();
    const { rows } = this;
    rows.selected = Math.max(0, Math.min(rows.selected, rows.count - 1));
    rows.top = Math.max(Math.min(rows.top, rows.selected), rows.selected - listRows + 1, 0);
    // Groups need all events.
    const wanted = rows.by ? Number.POSITIVE_INFINITY : rows.selected + 2 * listRows;
    if (list.ended || list.loading || rows.count > wanted || this.#pagesLeft === 0) return;
    this.#pagesLeft--;
    void list.more().then(() => {
      if (this.message === READING) this.message = '';
      if (list === this.list) this.#settleFormer(list);
      this.settle();
      this.#parts.onChange();
    });
  }

  #update(): void {
    try {
      this.rows.update(this.list);
    } catch (error) {
      this.#tell(error);
      this.#stack.pop();
      this.#update();
    }
  }

  #pressKey(key: Key): boolean {
    const { cover, kind } = this;
    const pressed = characterOf(key) ?? key.name ?? '';
    if (kind === 'help') {
      this.cover = undefined;
      return pressed === 'q';
    }
    const keys = this.#keys[kind];
    const move = moverOf(key, keys !== undefined);
    const name = SYNONYMS[pressed] ?? pressed;
    if (move) this.#move(move);
    else if (keys) {
      const act = this.#keys['all']?.[name] ?? keys[name];
      if (!act && characterOf(key))
        this.message = this.#keys['events']?.[pressed]
          ? `${pressed} is a key of the list: esc goes back to it`
          : `${pressed} does nothing here; ? shows the keys`;
      return act?.() === true;
    } else this.#type(cover as Cover, key);
    return false;
  }

  #move(move: Mover): void {
    const { cover, rows, listRows, eventRows } = this;
    if (cover?.kind === 'event')
      cover.place = move(cover.place, this.eventLines.length - eventRows + 1, eventRows);
    else if (cover?.kind === 'field') cover.place = move(cover.place, this.fields.length, listRows);
    else rows.selected = move(rows.selected, rows.count, listRows);
  }

  #show(kind: Cover['kind'], text = ''): void {
    this.cover = { kind, text, place: 0 };
  }

  #enter(): void {
    const { by, groups, selected } = this.rows;
    const group = groups[selected];
    if (this.cover) this.#goBack();
    else if (by && group) this.#narrow(`${by.text} = ${group.values[0] ?? 'null'}`);
    else if (this.current) this.#show('event');
  }

  #goBack(): void {
    if (this.cover) this.cover = undefined;
    else if (this.canGoBack) this.#stack.pop();
    else this.message = 'this is the whole list; q quits';
  }

  #step(step: 1 | -1): void {
    const { rows } = this;
    if (rows.items[rows.selected + step]) {
      rows.selected += step;
      this.#show('event');
    } else if (step < 0) this.message = 'this is the first event';
    else this.message = this.list.ended ? 'this is the last event' : 'the next event is being read';
  }

  #changeZone(): void {
    const { zones } = this.#parts;
    this.zone = zones[(zones.indexOf(this.zone) + 1) % zones.length] ?? this.zone;
    // Groups by hour or weekday depend on the zone.
    if (this.rows.by) this.#rebuild();
    this.message = `times in ${this.zone.name}`;
  }

  #readAgain(failedOnly: boolean): void {
    this.list.close().catch(() => undefined);
    this.#former ??= this.list;
    this.message = failedOnly === this.list.failedOnly ? READING : '';
    this.#showList(this.#parts.open(failedOnly));
  }

  /** Returns to the previous events if reading the new ones failed. */
  #settleFormer({ problem }: EventList): void {
    const former = this.#former;
    this.#former = undefined;
    if (!former || !problem) return;
    former.problem = problem;
    this.#showList(former);
  }

  #showList(list: EventList): void {
    this.list = list;
    this.#rebuild();
  }

  #rebuild(): void {
    const again = this.#stack.map(
      ({ narrowings, filter, by }) => new Rows(narrowings, this.zone, filter, by),
    );
    this.#stack.splice(0, again.length, ...again);
  }

  #copy(copy: (item: Items) => Promise<string>): void {
    if (this.current) this.#showOutcome(copy(this.current));
  }

  #report(): void {
    this.message = 'making the report';
    this.#showOutcome(this.#parts.report(this.rows.shown));
  }

  async #showOutcome(outcome: Promise<string>): Promise<void> {
    this.message = await outcome.catch((error: Error) => error.message);
    this.#parts.onChange();
  }

  #askFilter(): void {
    const { filter, narrowings } = this.rows;
    if (filter === '') this.#stack.push(new Rows(narrowings, this.zone));
    this.#show('filter', filter);
  }

  #type(cover: Cover, key: Key): void {
    const isFilter = cover.kind === 'filter';
    const before = cover.text;
    if (key.name === 'return' || key.name === 'enter') this.#take(cover);
    else if (key.name === 'escape') {
      this.#goBack();
      if (isFilter) this.#goBack();
    } else if (key.name === 'tab' && cover.kind === 'field')
      cover.text = this.fields[cover.place] ?? cover.text;
    else if (key.name === 'backspace') cover.text = [...cover.text].slice(0, -1).join('');
    else if (key.ctrl && key.name === 'u') cover.text = '';
    else cover.text += characterOf(key) ?? '';
    if (cover.text === before) return;
    cover.place = 0;
    if (isFilter) this.#stack.splice(-1, 1, new Rows(this.rows.narrowings, this.zone, cover.text));
  }

  /** Applies the typed text. Invalid text throws `UsageError` and stays for correction. */
  #take({ kind, text, place }: Cover): void {
    if (kind === 'condition' && text.trim() !== '') this.#narrow(text);
    if (kind === 'field') this.#group(text, place);
    this.cover = undefined;
    if (kind === 'filter' && text.trim() === '') this.#goBack();
  }

  #group(text: string, place: number): void {
    const field = this.fields.find((one) => one === text.trim()) ?? this.fields[place];
    if (field === undefined) throw new UsageError(`no event has a field like '${text}'; esc cancels`);
    const { narrowings, filter, by } = this.rows;
    // Grouping by another field replaces the present groups.
    if (by) this.#stack.pop();
    this.#stack.push(new Rows(narrowings, this.zone, filter, parseFieldPath(field, 'g')));
  }

  #narrow(condition: string): void {
    const narrowing = narrowingOf(condition, this.#parts.clock.now(), this.zone);
    const rows = new Rows([...this.rows.narrowings, narrowing], this.zone, this.rows.filter);
    this.#stack.push(rows);
    rows.update(this.list);
    const [doubt] = rows.count === 0 ? narrowing.keep.doubts() : [];
    if (doubt) this.message = doubt;
  }
}

/**
 * Laying out a list takes 40 ms, and formatting an event of 100 KB takes 80 ms. Each key needs the result
 * several times.
 */
function rememberLatest<Given extends readonly unknown[], Result>(make: (...given: Given) => Result) {
  let latest: { readonly given: Given; readonly result: Result } | undefined;
  return (...given: Given): Result => {
    if (!latest?.given.every((part, index) => part === given[index]))
      latest = { given, result: make(...given) };
    return latest.result;
  };
}
