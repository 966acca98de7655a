import type { Items } from '../items/items.ts';
import { characterOf, type Key, moved, movementOf } from './browse-keys.ts';
import { type EventList, FilteredList } from './event-list.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}
/** A request that a key makes of the caller. */
export type Request = 'leave' | 'copy' | 'report' | 'replay' | 'zone';
/** Decides what a key does: in the list, in an open event, while a filter is typed, on the page of keys. */
export type Mode = 'list' | 'event' | 'filter' | 'help';

export interface BrowsingParts {
  /** Begins to read all events, or failed ones only. */
  readonly open: (failedOnly: boolean) => EventList;
  readonly failedOnly: boolean;
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
const PATIENCE = 20;

/** The state of the list (what is shown, selected, filtered and open) and how keys change it. It draws nothing. */
export class Browsing {
  readonly #parts: BrowsingParts;
  readonly #lists = new Map<boolean, FilteredList>();
  failedOnly: boolean;
  filter = '';
  /** Whether keys go to the filter. */
  typing = false;
  selected = 0;
  /** The first row on the screen. */
  top = 0;
  /** The first line on the screen of the event that is open. */
  opened: { readonly item: Items; line: number } | undefined;
  message = '';
  /** Whether the page of keys is on the screen. */
  isHelpShown = false;
  #patience = PATIENCE;

  constructor(parts: BrowsingParts) {
    this.#parts = parts;
    this.failedOnly = parts.failedOnly;
  }

  get shown(): FilteredList {
    let shown = this.#lists.get(this.failedOnly);
    if (!shown) {
      shown = new FilteredList(this.#parts.open(this.failedOnly));
      shown.filter(this.filter);
      this.#lists.set(this.failedOnly, shown);
    }
    return shown;
  }

  get mode(): Mode {
    if (this.isHelpShown) return 'help';
    if (this.opened) return 'event';
    return this.typing ? 'filter' : 'list';
  }

  get listRows(): number {
    return Math.max(1, this.#parts.size().rows - AROUND_LIST);
  }

  get eventRows(): number {
    return Math.max(1, this.#parts.size().rows - AROUND_EVENT);
  }

  /** The event that is open, or the selected one. */
  get current(): Items | undefined {
    const place = this.shown.places[this.selected];
    return this.opened?.item ?? (place === undefined ? undefined : this.shown.list.at(place));
  }

  press(key: Key): Request | undefined {
    this.message = '';
    this.#patience = PATIENCE;
    const request = this.#pressIn(this.mode, key);
    this.settle();
    return request;
  }

  /** Keeps the selection on the screen, and reads more when it comes near the end. */
  settle(): void {
    const { shown, listRows } = this;
    this.selected = Math.max(0, Math.min(this.selected, shown.places.length - 1));
    this.top = Math.max(Math.min(this.top, this.selected), this.selected - listRows + 1);
    const wanted = this.selected + 2 * listRows;
    if (shown.list.ended || shown.list.loading || shown.places.length > wanted || this.#patience === 0)
      return;
    this.#patience--;
    void shown.list.more().then(() => {
      shown.update();
      this.settle();
      this.#parts.onChange();
    });
  }

  async close(): Promise<void> {
    for (const { list } of [...this.#lists.values()]) await list.close();
  }

  #pressIn(mode: Mode, key: Key): Request | undefined {
    switch (mode) {
      case 'help':
        this.isHelpShown = false;
        return key.sequence === 'q' ? 'leave' : undefined;
      case 'event':
        return this.#pressInEvent(key);
      case 'filter':
        return this.#type(key);
      case 'list':
        return this.#pressInList(key);
    }
  }

  #pressInList(key: Key): Request | undefined {
    const movement = movementOf(key, true);
    if (movement) this.selected = moved(this.selected, movement, this.shown.places.length, this.listRows);
    else if (key.name === 'return' || key.name === 'enter') this.#openSelected();
    else if (key.sequence === 'q' || (key.name === 'escape' && this.filter === '')) return 'leave';
    else if (key.name === 'escape') this.#refilter('');
    else if (key.sequence === '/') this.typing = true;
    else if (key.sequence === 'f') this.#toggleFailed();
    else if (key.sequence === 'r') this.#readAgain();
    else return this.#pressAnywhere(key);
    return undefined;
  }

  #pressInEvent(key: Key): Request | undefined {
    const opened = this.opened as { item: Items; line: number };
    const movement = movementOf(key, true);
    const last = Math.max(0, this.#parts.linesOf(opened.item).length - this.eventRows);
    if (movement) opened.line = Math.min(last, moved(opened.line, movement, last + 1, this.eventRows));
    else if (key.sequence === 'q') return 'leave';
    else if (['escape', 'return', 'enter', 'backspace', 'left'].includes(key.name ?? ''))
      this.opened = undefined;
    else if (key.sequence === 'n' || key.name === 'right') this.#openNext(1);
    else if (key.sequence === 'p') this.#openNext(-1);
    else if (key.sequence === 'r') return 'replay';
    else return this.#pressAnywhere(key);
    return undefined;
  }

  #pressAnywhere({ sequence }: Key): Request | undefined {
    if (sequence === '?') this.isHelpShown = true;
    const requests: Readonly<Record<string, Request>> = { y: 'copy', o: 'report', z: 'zone' };
    return requests[sequence ?? ''];
  }

  #type(key: Key): undefined {
    const movement = movementOf(key, false);
    const character = characterOf(key);
    if (movement) this.selected = moved(this.selected, movement, this.shown.places.length, this.listRows);
    else if (key.name === 'return' || key.name === 'enter') this.typing = false;
    else if (key.name === 'escape') {
      this.typing = false;
      this.#refilter('');
    } else if (key.name === 'backspace') this.#refilter([...this.filter].slice(0, -1).join(''));
    else if (key.ctrl && key.name === 'u') this.#refilter('');
    else if (character) this.#refilter(this.filter + character);
  }

  #refilter(filter: string): void {
    if (filter === this.filter) return;
    this.filter = filter;
    this.selected = 0;
    for (const shown of this.#lists.values()) shown.filter(filter);
  }

  #toggleFailed(): void {
    this.failedOnly = !this.failedOnly;
    this.selected = 0;
  }

  /** Reads from the service again and selects the first event. */
  #readAgain(): void {
    this.close().catch(() => undefined);
    this.#lists.clear();
    this.selected = 0;
    this.message = 'reading again';
  }

  #openNext(step: 1 | -1): void {
    const { places } = this.shown;
    const next = this.selected + step;
    if (next < 0) this.message = 'this is the first event';
    else if (next >= places.length)
      this.message = this.shown.list.ended ? 'this is the last event' : 'the next event is being read';
    else {
      this.selected = next;
      this.#openSelected();
    }
  }

  #openSelected(): void {
    this.opened = undefined;
    const { current } = this;
    if (current) this.opened = { item: current, line: 0 };
  }
}
