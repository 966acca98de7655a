import { HooktrailError, UsageError } from '../errors.ts';
import type { FoundPage } from '../events/page.ts';
import { type EventGroup, EventGroups } from '../events/stats.ts';
import { itemFilter, type KeepItems, parseCondition } from '../json/item-conditions.ts';
import { type FieldPath, fieldsOf, parseFieldPath } from '../json/item-fields.ts';
import { Items } from '../json/items.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { characterOf, type Key, moverOf } from './full-screen.ts';

/** A request of a key to the caller. */
export type Request = 'leave' | 'copy' | 'report';

/** An open event, and the first of its lines on the screen. */
export interface OpenedEvent {
  readonly kind: 'event';
  readonly item: Items;
  /** Its place is the selected one there. */
  readonly events: EventRows;
  line: number;
}

/** The text being typed: into the filter, or a condition or a field that takes effect with Enter. */
export interface Typing {
  readonly into: 'filter' | 'condition' | 'field';
  text: string;
  /** The field that is selected among `fields`. */
  selected: number;
}

export interface BrowsingParts {
  /** Begins to read all events, or failed ones only. */
  readonly open: (failedOnly: boolean) => EventList;
  readonly failedOnly: boolean;
  /** Reads a typed condition. Throws `UsageError`. */
  readonly narrowing: (typed: string) => Narrowing;
  /** The size of the terminal at any moment. */
  readonly screen: { readonly columns: number; readonly rows: number };
  /** The zones that a key switches between, the first one first. */
  readonly zones: readonly [TimeZone, ...TimeZone[]];
  /** Returns an event as the lines that are shown when it is open. */
  readonly linesOf: (item: Items, columns: number, zone: TimeZone) => readonly string[];
  /** Called when something other than a key changed what is shown. */
  readonly onChange: () => void;
}

/** Rows taken by the title, the column heads and the bottom line. */
const AROUND_LIST = 3;
const AROUND_EVENT = 2;
/** The most pages read for one key press, so that a filter without matches does not download everything. */
const PAGES_PER_KEY = 20;
const READING = 'reading again';
/** Events that the fields to group by are taken from. */
const SAMPLE = 200;

/**
 * Holds the views that are open and changes them as keys say; it draws nothing. A key may open a view above the one it was
 * pressed in, and Escape closes the topmost.
 */
export class Browsing {
  readonly #parts: BrowsingParts;
  readonly #levels: (EventRows | GroupRows | OpenedEvent)[];
  failedOnly: boolean;
  list: EventList;
  zone: TimeZone;
  typing: Typing | undefined;
  message = '';
  /** True while the page of keys is on the screen. */
  isHelpShown = false;
  #pagesLeft = PAGES_PER_KEY;
  readonly #linesOf: BrowsingParts['linesOf'];

  /** The keys everywhere, and those of each kind of level. */
  readonly #keys: Readonly<Record<string, Readonly<Record<string, () => Request | void>>>> = {
    everywhere: {
      return: () => this.#enter(),
      enter: () => this.#enter(),
      escape: () => this.#goBack(),
      backspace: () => this.#goBack(),
      left: () => this.#goBack(),
      z: () => this.#changeZone(),
      '?': () => {
        this.isHelpShown = true;
      },
      q: () => 'leave',
    },
    events: {
      '/': () => this.#askFilter(),
      w: () => this.#ask('condition'),
      g: () => this.#ask('field'),
      f: () => this.#readAgain(!this.failedOnly),
      r: () => this.#readAgain(this.failedOnly),
      y: () => 'copy',
      o: () => 'report',
    },
    groups: { g: () => this.#ask('field') },
    event: {
      n: () => this.#step(1),
      right: () => this.#step(1),
      p: () => this.#step(-1),
      y: () => 'copy',
      o: () => 'report',
    },
  };

  constructor(parts: BrowsingParts) {
    this.#parts = parts;
    this.failedOnly = parts.failedOnly;
    this.list = parts.open(parts.failedOnly);
    [this.zone] = parts.zones;
    this.#linesOf = rememberLatest(parts.linesOf);
    this.#levels = [new EventRows([], '')];
  }

  get level(): EventRows | GroupRows | OpenedEvent {
    return this.#levels.at(-1) as EventRows;
  }

  /** The events that are shown, grouped, or of which one is open. */
  get events(): EventRows {
    const { level } = this;
    return level.kind === 'events' ? level : level.events;
  }

  /** The event that is open, or the selected one. */
  get current(): Items | undefined {
    const { level } = this;
    if (level.kind === 'groups') return undefined;
    return level.kind === 'events' ? level.items[level.selected] : level.item;
  }

  get canGoBack(): boolean {
    return this.#levels.length > 1;
  }

  get screen(): BrowsingParts['screen'] {
    return this.#parts.screen;
  }

  get listRows(): number {
    return Math.max(1, this.screen.rows - AROUND_LIST);
  }

  get eventRows(): number {
    return Math.max(1, this.screen.rows - AROUND_EVENT);
  }

  /** The fields of the first events whose names contain what is typed. */
  get fields(): readonly string[] {
    const items = this.list.items.slice(0, SAMPLE).map((item) => item.text(0));
    const wanted = this.typing?.text.trim().toLowerCase() ?? '';
    return fieldsOf(Items.of(items)).filter((field) => field.toLowerCase().includes(wanted));
  }

  linesOf({ item }: OpenedEvent): readonly string[] {
    return this.#linesOf(item, this.screen.columns, this.zone);
  }

  press(key: Key): Request | undefined {
    this.message = '';
    this.#pagesLeft = PAGES_PER_KEY;
    let request: Request | undefined;
    try {
      request = this.#pressKey(key);
    } catch (error) {
      this.#tell(error);
    }
    this.settle();
    return request;
  }

  /** Shows an error that is explained; any other is a defect. */
  #tell(error: unknown): void {
    if (!(error instanceof HooktrailError)) throw error;
    this.message = error.message;
  }

  /** Keeps the selection on the screen, and reads more when it comes near the end. */
  settle(): void {
    const { list, listRows } = this;
    const rows = this.#update();
    rows.selected = Math.max(0, Math.min(rows.selected, rows.count - 1));
    rows.top = Math.max(Math.min(rows.top, rows.selected), rows.selected - listRows + 1, 0);
    // All events count in the groups.
    const wanted = rows.kind === 'groups' ? Number.POSITIVE_INFINITY : rows.selected + 2 * listRows;
    if (list.ended || list.loading || rows.count > wanted || this.#pagesLeft === 0) return;
    this.#pagesLeft--;
    void list.more().then(() => {
      if (this.message === READING) this.message = '';
      this.settle();
      this.#parts.onChange();
    });
  }

  /** Updates the shown rows, and leaves groups that become too many. */
  #update(): EventRows | GroupRows {
    const { level } = this;
    const rows = level.kind === 'event' ? level.events : level;
    try {
      rows.update(this.list);
      return rows;
    } catch (error) {
      this.#tell(error);
      this.#levels.pop();
      return this.#update();
    }
  }

  #pressKey(key: Key): Request | undefined {
    const { level } = this;
    const name = characterOf(key) ?? key.name ?? '';
    if (this.isHelpShown) {
      this.isHelpShown = false;
      return name === 'q' ? 'leave' : undefined;
    }
    if (this.typing) {
      this.#type(this.typing, key);
      return undefined;
    }
    const move = moverOf(key, true);
    if (move && level.kind === 'event')
      level.line = move(level.line, this.linesOf(level).length - this.eventRows + 1, this.eventRows);
    else if (move && level.kind !== 'event')
      level.selected = move(level.selected, level.count, this.listRows);
    const act = this.#keys['everywhere']?.[name] ?? this.#keys[level.kind]?.[name];
    return act?.() ?? undefined;
  }

  #enter(): void {
    const { level, current } = this;
    if (level.kind === 'event') this.#goBack();
    else if (level.kind === 'groups') {
      const group = level.groups[level.selected];
      if (group) this.#narrow(`${level.field.text} = ${group.values[0] ?? 'null'}`);
    } else if (current) this.#levels.push({ kind: 'event', item: current, events: level, line: 0 });
  }

  #goBack(): void {
    if (this.canGoBack) this.#levels.pop();
    else this.message = 'this is the whole list; q quits';
  }

  /** Opens the event before or after the open one. */
  #step(step: 1 | -1): void {
    const { events } = this;
    const item = events.items[events.selected + step];
    if (item) {
      events.selected += step;
      this.#levels.splice(-1, 1, { kind: 'event', item, events, line: 0 });
    } else if (step < 0) this.message = 'this is the first event';
    else this.message = this.list.ended ? 'this is the last event' : 'the next event is being read';
  }

  #changeZone(): void {
    const { zones } = this.#parts;
    this.zone = zones[(zones.indexOf(this.zone) + 1) % zones.length] ?? this.zone;
    this.message = `times in ${this.zone.name}`;
  }

  #readAgain(failedOnly: boolean): void {
    this.list.close().catch(() => undefined);
    this.message = failedOnly === this.failedOnly ? READING : '';
    this.failedOnly = failedOnly;
    this.list = this.#parts.open(failedOnly);
    for (const level of this.#levels) if (level.kind !== 'event') level.restart();
  }

  /** A filter is a level of its own, unless one is there already. */
  #askFilter(): void {
    const { filter, narrowings } = this.events;
    if (filter === '') this.#levels.push(new EventRows(narrowings, ''));
    this.typing = { into: 'filter', text: filter, selected: 0 };
  }

  #ask(into: 'condition' | 'field'): void {
    this.typing = { into, text: '', selected: 0 };
  }

  #type(typing: Typing, key: Key): void {
    const isFilter = typing.into === 'filter';
    const move = moverOf(key, false);
    const { events, listRows } = this;
    const before = typing.text;
    if (key.name === 'return' || key.name === 'enter') this.#take(typing);
    else if (key.name === 'escape') {
      this.typing = undefined;
      if (isFilter) this.#goBack();
    } else if (key.name === 'tab' && typing.into === 'field')
      typing.text = this.fields[typing.selected] ?? typing.text;
    else if (move && isFilter) events.selected = move(events.selected, events.count, listRows);
    else if (move) typing.selected = move(typing.selected, this.fields.length, listRows);
    else if (key.name === 'backspace') typing.text = [...typing.text].slice(0, -1).join('');
    else if (key.ctrl && key.name === 'u') typing.text = '';
    else typing.text += characterOf(key) ?? '';
    if (typing.text === before) return;
    typing.selected = 0;
    if (isFilter && this.typing) this.#levels.splice(-1, 1, new EventRows(events.narrowings, typing.text));
  }

  /** Uses what was typed. What is invalid throws `UsageError` and stays, so that the user can correct it. */
  #take({ into, text, selected }: Typing): void {
    if (into === 'filter' && text.trim() === '') this.#goBack();
    if (into === 'condition' && text.trim() !== '') this.#narrow(text);
    if (into === 'field') this.#group(text, selected);
    this.typing = undefined;
  }

  /** Groups by the typed field, or the selected one. */
  #group(text: string, selected: number): void {
    const field = this.fields.find((one) => one === text.trim()) ?? this.fields[selected];
    if (field === undefined) throw new UsageError(`no event has a field like '${text}'; esc cancels`);
    const { events } = this;
    // Grouped by another field, the groups take the place of those before.
    if (this.level.kind === 'groups') this.#levels.pop();
    this.#levels.push(new GroupRows(events, parseFieldPath(field, 'g')));
  }

  /** Shows those events that also meet a condition. */
  #narrow(condition: string): void {
    const narrowing = this.#parts.narrowing(condition);
    const rows = new EventRows([...this.events.narrowings, narrowing], this.events.filter);
    this.#levels.push(rows);
    rows.update(this.list);
    const [doubt] = rows.count === 0 ? narrowing.keep.doubts() : [];
    if (doubt) this.message = doubt;
  }
}

/** The events read so far. More are read on demand. */
export class EventList {
  readonly items: Items[] = [];
  /** The number of all matching events, if the service gives it. */
  total: number | undefined;
  ended = false;
  /** The error that ended reading. */
  problem: Error | undefined;
  readonly #pages: AsyncIterator<FoundPage>;
  #loading: Promise<void> | undefined;

  constructor(pages: AsyncIterator<FoundPage>) {
    this.#pages = pages;
  }

  get loading(): boolean {
    return this.#loading !== undefined;
  }

  /** Reads one more page, or waits for the one being read. Never rejects: see `problem`. */
  more(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async close(): Promise<void> {
    await this.#pages.return?.();
  }

  async #read(): Promise<void> {
    if (this.ended) return;
    try {
      const { done, value } = await this.#pages.next();
      this.ended = done === true;
      if (done) return;
      this.total = value.total;
      for (let item = 0; item < value.items.count; item++) this.items.push(value.items.only(item));
    } catch (error) {
      this.ended = true;
      this.problem = error as Error;
    }
  }
}

/** The events that meet all conditions and whose text contains all words of a filter, in any case. */
export class EventRows {
  readonly kind = 'events';
  readonly narrowings: readonly Narrowing[];
  readonly filter: string;
  items: Items[] = [];
  selected = 0;
  /** The first row on the screen. */
  top = 0;
  #looked = 0;

  constructor(narrowings: readonly Narrowing[], filter: string) {
    this.narrowings = narrowings;
    this.filter = filter;
  }

  get count(): number {
    return this.items.length;
  }

  /** Looks at the events that were read since the last call. */
  update(list: EventList): void {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    for (; this.#looked < list.items.length; this.#looked++) {
      const item = list.items[this.#looked] as Items;
      const text = words.length > 0 ? item.text(0).toString().toLowerCase() : '';
      const isKept = this.narrowings.every(({ keep }) => keep(item).count === 1);
      if (isKept && words.every((word) => text.includes(word))) this.items.push(item);
    }
  }

  /** Forgets what it looked at: another list follows. */
  restart(): void {
    this.items = [];
    this.selected = 0;
    this.#looked = 0;
  }
}

/** Events in groups by a field. */
export class GroupRows {
  readonly kind = 'groups';
  readonly field: FieldPath;
  readonly events: EventRows;
  /** The largest first. */
  groups: readonly EventGroup[] = [];
  selected = 0;
  top = 0;
  #counted: EventGroups;

  constructor(events: EventRows, field: FieldPath) {
    this.events = events;
    this.field = field;
    this.#counted = new EventGroups([field]);
  }

  get count(): number {
    return this.groups.length;
  }

  /** Events in all groups. */
  get total(): number {
    return this.#counted.total;
  }

  /** Counts the events that were read since the last call. The selected group stays selected. Throws `ServiceError` if the groups become too many. */
  update(list: EventList): void {
    this.events.update(list);
    if (this.total === this.events.count) return;
    for (const item of this.events.items.slice(this.total)) this.#counted.add(item);
    const selected = this.groups[this.selected];
    this.groups = this.#counted.largest();
    if (selected && this.selected > 0) this.selected = Math.max(0, this.groups.indexOf(selected));
  }

  restart(): void {
    this.#counted = new EventGroups([this.field]);
    this.groups = [];
    this.selected = 0;
  }
}

/** Returns a function that makes its result again only when an argument changes: it is asked at each key, and takes long. */
export function rememberLatest<Given extends readonly unknown[], Result>(make: (...given: Given) => Result) {
  let latest: { readonly given: Given; readonly result: Result } | undefined;
  return (...given: Given): Result => {
    if (!latest?.given.every((part, index) => part === given[index]))
      latest = { given, result: make(...given) };
    return latest.result;
  };
}

/** A condition that the shown events meet, as a flag of a search gives it. */
export interface Narrowing {
  readonly flag: 'where' | 'grep';
  readonly text: string;
  readonly keep: KeepItems;
}

/**
 * Reads a condition of `--where`; a text without an operator, or in quotes, is one of `--grep`. Throws `UsageError`.
 * Spans ago count from `now` (milliseconds since the epoch), times without a zone are those of `zone`.
 */
export function narrowingOf(typed: string, now: number, zone: TimeZone): Narrowing {
  const text = typed.trim();
  const isQuoted = /^"[^"]+"$/.test(text);
  if (!isQuoted && /[!=<>~]/.test(text))
    return { flag: 'where', text, keep: itemFilter([parseCondition(text, 'w', now, zone)], [], 'w') };
  const wanted = isQuoted ? text.slice(1, -1) : text;
  return { flag: 'grep', text: wanted, keep: itemFilter([], [wanted]) };
}
