import { HooktrailError } from '../errors.ts';
import { fieldsOf, parseFieldPath } from '../json/item-fields.ts';
import { Items } from '../json/items.ts';
import { type EventList, EventRows, GroupRows, type Narrowing, type Rows } from './event-list.ts';
import { characterOf, type Key, movementOf, movePlace } from './full-screen.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** A request of a key to the caller. */
export type Request = 'leave' | 'copy' | 'report' | 'zone';

/** An open event, and the first of its lines on the screen. */
export interface OpenedEvent {
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
  readonly size: () => ScreenSize;
  /** Returns the lines of an open event at the present width. */
  readonly linesOf: (item: Items) => readonly string[];
  /** Called when something other than a key changed what is shown. */
  readonly onChange: () => void;
}

/** Rows taken by the title, the column heads and the bottom line. */
const AROUND_LIST = 3;
const AROUND_EVENT = 2;
/** The most pages read for one key press, so that a filter without matches does not download everything. */
const PAGES_PER_KEY = 20;
/** Events that the fields to group by are taken from. */
const SAMPLE = 200;
const BACK = ['escape', 'backspace', 'left'];

/**
 * What is shown, and how keys change it; it draws nothing. What a key leads to lies above what it came from, and Escape
 * goes back by one.
 */
export class Browsing {
  readonly #parts: BrowsingParts;
  readonly #lists = new Map<boolean, EventList>();
  readonly #levels: (EventRows | GroupRows | OpenedEvent)[];
  failedOnly: boolean;
  typing: Typing | undefined;
  message = '';
  /** True while the page of keys is on the screen. */
  isHelpShown = false;
  #pagesLeft = PAGES_PER_KEY;

  constructor(parts: BrowsingParts) {
    this.#parts = parts;
    this.failedOnly = parts.failedOnly;
    this.#levels = [new EventRows(this.list, [])];
  }

  get list(): EventList {
    const list = this.#lists.get(this.failedOnly) ?? this.#parts.open(this.failedOnly);
    this.#lists.set(this.failedOnly, list);
    return list;
  }

  get level(): EventRows | GroupRows | OpenedEvent {
    return this.#levels.at(-1) as EventRows;
  }

  /** The events that are shown, grouped, or of which one is open. */
  get events(): EventRows {
    const { level } = this;
    return level instanceof EventRows ? level : level.events;
  }

  /** What is shown, or lies below the open event. */
  get rows(): EventRows | GroupRows {
    const { level } = this;
    return 'item' in level ? level.events : level;
  }

  /** The event that is open, or the selected one. */
  get current(): Items | undefined {
    const { level } = this;
    if (level instanceof GroupRows) return undefined;
    return level instanceof EventRows ? level.at(level.selected) : level.item;
  }

  get canGoBack(): boolean {
    return this.#levels.length > 1;
  }

  get listRows(): number {
    return Math.max(1, this.#parts.size().rows - AROUND_LIST);
  }

  get eventRows(): number {
    return Math.max(1, this.#parts.size().rows - AROUND_EVENT);
  }

  /** The fields of the first events whose names contain what is typed. */
  get fields(): readonly string[] {
    const count = Math.min(SAMPLE, this.list.length);
    const items = Array.from({ length: count }, (_, place) => this.list.at(place).text(0));
    const wanted = this.typing?.text.trim().toLowerCase() ?? '';
    return fieldsOf(Items.of(items)).filter((field) => field.toLowerCase().includes(wanted));
  }

  press(key: Key): Request | undefined {
    this.message = '';
    this.#pagesLeft = PAGES_PER_KEY;
    const request = this.#pressKey(key);
    this.settle();
    return request;
  }

  /** Keeps the selection on the screen, and reads more when it comes near the end. */
  settle(): void {
    const { list, listRows } = this;
    this.#update(list);
    const level = this.rows;
    const count = level instanceof EventRows ? level.places.length : level.groups.length;
    scrollTo(level, Math.max(0, Math.min(level.selected, count - 1)), listRows);
    // All events count in the groups.
    const wanted = level instanceof GroupRows ? Number.POSITIVE_INFINITY : level.selected + 2 * listRows;
    if (list.ended || list.loading || count > wanted || this.#pagesLeft === 0) return;
    this.#pagesLeft--;
    void list.more().then(() => {
      this.settle();
      this.#parts.onChange();
    });
  }

  async close(): Promise<void> {
    for (const list of [...this.#lists.values()]) await list.close();
  }

  #update(list: EventList): void {
    try {
      this.rows.update(list);
    } catch (error) {
      if (!(error instanceof HooktrailError)) throw error;
      this.#levels.pop();
      this.message = error.message;
      this.#update(list);
    }
  }

  #pressKey(key: Key): Request | undefined {
    const { level } = this;
    if (this.isHelpShown) {
      this.isHelpShown = false;
      return key.sequence === 'q' ? 'leave' : undefined;
    }
    if (this.typing) return this.#type(this.typing, key);
    const movement = movementOf(key, true);
    if (movement && 'item' in level) {
      const last = Math.max(0, this.#parts.linesOf(level.item).length - this.eventRows);
      level.line = Math.min(last, movePlace(level.line, movement, last + 1, this.eventRows));
    } else if (movement && !('item' in level)) {
      const count = level instanceof EventRows ? level.places.length : level.groups.length;
      level.selected = Math.max(0, movePlace(level.selected, movement, count, this.listRows));
    } else if (BACK.includes(key.name ?? '')) this.#goBack();
    else if (key.name === 'return' || key.name === 'enter') this.#enter();
    else if (key.sequence === 'q') return 'leave';
    else if (key.sequence === '?') this.isHelpShown = true;
    else if (key.sequence === 'z') return 'zone';
    else if (key.sequence === 'g' && !('item' in level)) this.#ask('field');
    else if ('item' in level) return this.#pressInEvent(level, key);
    else if (level instanceof EventRows) return this.#pressInEvents(level, key);
    return undefined;
  }

  #pressInEvents(level: EventRows, { sequence }: Key): Request | undefined {
    if (sequence === '/') this.#askFilter(level);
    else if (sequence === 'w') this.#ask('condition');
    else if (sequence === 'f') this.failedOnly = !this.failedOnly;
    else if (sequence === 'r') {
      this.close().catch(() => undefined);
      this.#lists.clear();
      this.message = 'reading again';
    } else return REQUESTS[sequence ?? ''];
    return undefined;
  }

  #pressInEvent({ events }: OpenedEvent, key: Key): Request | undefined {
    const step = key.sequence === 'n' || key.name === 'right' ? 1 : key.sequence === 'p' ? -1 : 0;
    if (step === 0) return REQUESTS[key.sequence ?? ''];
    const item = events.at(events.selected + step);
    if (item) {
      events.selected += step;
      this.#levels.splice(-1, 1, { item, events, line: 0 });
    } else if (step < 0) this.message = 'this is the first event';
    else this.message = this.list.ended ? 'this is the last event' : 'the next event is being read';
    return undefined;
  }

  #goBack(): void {
    if (this.#levels.length > 1) this.#levels.pop();
    else this.message = 'this is the whole list; q quits';
  }

  #enter(): void {
    const { level, current } = this;
    if ('item' in level) this.#goBack();
    else if (level instanceof EventRows && current)
      this.#levels.push({ item: current, events: level, line: 0 });
    else if (level instanceof GroupRows) {
      const group = level.groups[level.selected];
      if (group) this.#narrow(`${level.field.text} = ${group.values[0] ?? 'null'}`);
    }
  }

  /** A filter is a level of its own, unless one is there already. */
  #askFilter({ filter, narrowings }: EventRows): void {
    if (filter === '') this.#levels.push(new EventRows(this.list, narrowings));
    this.typing = { into: 'filter', text: filter, selected: 0 };
  }

  #ask(into: 'condition' | 'field'): void {
    this.typing = { into, text: '', selected: 0 };
  }

  #type(typing: Typing, key: Key): undefined {
    const isFilter = typing.into === 'filter';
    const movement = movementOf(key, false);
    const character = characterOf(key);
    const before = typing.text;
    if (key.name === 'return' || key.name === 'enter') this.#take(typing);
    else if (key.name === 'escape') {
      this.typing = undefined;
      if (isFilter) this.#goBack();
    } else if (key.name === 'tab' && typing.into === 'field')
      typing.text = this.fields[typing.selected] ?? typing.text;
    else if (movement && isFilter)
      this.events.selected = movePlace(
        this.events.selected,
        movement,
        this.events.places.length,
        this.listRows,
      );
    else if (movement)
      typing.selected = Math.max(0, movePlace(typing.selected, movement, this.fields.length, this.listRows));
    else if (key.name === 'backspace') typing.text = [...typing.text].slice(0, -1).join('');
    else if (key.ctrl && key.name === 'u') typing.text = '';
    else if (character) typing.text += character;
    if (typing.text !== before) typing.selected = 0;
    if (isFilter && this.typing && typing.text !== before) this.events.filter = typing.text;
  }

  /** Uses what was typed; if it is invalid it stays, so that the user can correct it. */
  #take({ into, text, selected }: Typing): void {
    try {
      if (into === 'filter' && text.trim() === '') this.#goBack();
      if (into === 'condition' && text.trim() !== '') this.#narrow(text);
      if (into === 'field') {
        const field = this.fields.find((one) => one === text.trim()) ?? this.fields[selected];
        if (field === undefined) {
          this.message = `no event has a field like '${text}'; esc cancels`;
          return;
        }
        const { level } = this;
        // Grouped by another field, the groups take the place of those before.
        if (level instanceof GroupRows) this.#levels.pop();
        this.#levels.push(new GroupRows(this.events, parseFieldPath(field, 'g')));
      }
      this.typing = undefined;
    } catch (error) {
      if (!(error instanceof HooktrailError)) throw error;
      this.message = error.message;
    }
  }

  /** Shows those events that also meet a condition. */
  #narrow(condition: string): void {
    const narrowing = this.#parts.narrowing(condition);
    const rows = new EventRows(this.list, [...this.events.narrowings, narrowing]);
    rows.filter = this.events.filter;
    this.#levels.push(rows);
    rows.update(this.list);
    const [doubt] = rows.places.length === 0 ? narrowing.keep.doubts() : [];
    if (doubt) this.message = doubt;
  }
}

const REQUESTS: Readonly<Record<string, Request>> = { y: 'copy', o: 'report' };

/** Selects a row, and moves the first row on the screen as little as it takes. */
function scrollTo(rows: Rows, selected: number, page: number): void {
  rows.selected = selected;
  rows.top = Math.max(Math.min(rows.top, selected), selected - page + 1, 0);
}
