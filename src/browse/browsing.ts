import { HooktrailError } from '../errors.ts';
import { parseFieldPath } from '../json/item-fields.ts';
import type { Items } from '../json/items.ts';
import { characterOf, type Key, moved, movementOf } from './browse-keys.ts';
import { type EventList, FilteredList, GroupList, groupCondition, type Narrowing } from './event-list.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}
/** A request of a key to the caller. */
export type Request = 'leave' | 'copy' | 'report' | 'replay' | 'zone';
/** Decides what a key does: in the list, in an open event, while something is typed, in the groups, on the page of keys. */
export type Mode = 'list' | 'event' | 'filter' | Question | 'groups' | 'help';
/** Text that takes effect with Enter: a condition, or the field to group by. */
type Question = 'condition' | 'field';

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
const PATIENCE = 20;

/** The state of the list (what is shown, selected, filtered and open) and how keys change it. It draws nothing. */
export class Browsing {
  readonly #parts: BrowsingParts;
  readonly #lists = new Map<boolean, FilteredList>();
  failedOnly: boolean;
  filter = '';
  /** True while keys are typed into the filter. */
  typing = false;
  /** Conditions that the shown events meet, in addition to the filter. */
  narrowings: readonly Narrowing[] = [];
  /** The question on the bottom line, and the answer typed so far. */
  asked: { readonly question: Question; text: string } | undefined;
  groups: GroupList | undefined;
  selected = 0;
  /** The first row on the screen. */
  top = 0;
  /** The first line on the screen of the event that is open. */
  opened: { readonly item: Items; line: number } | undefined;
  message = '';
  /** True while the page of keys is on the screen. */
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
      shown.filter(this.filter, this.narrowings);
      this.#lists.set(this.failedOnly, shown);
    }
    return shown;
  }

  get mode(): Mode {
    if (this.isHelpShown) return 'help';
    if (this.asked) return this.asked.question;
    if (this.groups) return 'groups';
    if (this.opened) return 'event';
    return this.typing ? 'filter' : 'list';
  }

  /** True if a filter or a condition chooses among the events. */
  get isNarrowed(): boolean {
    return this.filter !== '' || this.narrowings.length > 0;
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
    this.#settleGroups();
    // All events count in the groups.
    const wanted = this.groups ? Number.POSITIVE_INFINITY : this.selected + 2 * listRows;
    if (shown.list.ended || shown.list.loading || shown.places.length > wanted || this.#patience === 0)
      return;
    this.#patience--;
    void shown.list.more().then(() => {
      shown.update();
      this.settle();
      this.#parts.onChange();
    });
  }

  #settleGroups(): void {
    const { groups, listRows } = this;
    if (!groups) return;
    try {
      groups.update();
    } catch (error) {
      if (!(error instanceof HooktrailError)) throw error;
      this.groups = undefined;
      this.message = error.message;
    }
    groups.top = Math.max(Math.min(groups.top, groups.selected), groups.selected - listRows + 1);
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
      case 'condition':
      case 'field':
        return this.#answer(key);
      case 'groups':
        return this.#pressInGroups(key);
      case 'list':
        return this.#pressInList(key);
    }
  }

  #pressInList(key: Key): Request | undefined {
    const movement = movementOf(key, true);
    if (movement) this.selected = moved(this.selected, movement, this.shown.places.length, this.listRows);
    else if (key.name === 'return' || key.name === 'enter') this.#openSelected();
    else if (key.sequence === 'q' || (key.name === 'escape' && !this.isNarrowed)) return 'leave';
    else if (key.name === 'escape') this.#widen();
    else if (key.sequence === 'w') this.asked = { question: 'condition', text: '' };
    else if (key.sequence === 'g') this.asked = { question: 'field', text: '' };
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
    this.#choose();
  }

  #narrow(narrowings: readonly Narrowing[]): void {
    this.narrowings = narrowings;
    this.#choose();
  }

  #choose(): void {
    this.selected = 0;
    for (const shown of this.#lists.values()) shown.filter(this.filter, this.narrowings);
  }

  /** Removes the filter, or else the latest condition. */
  #widen(): void {
    if (this.filter !== '') this.#refilter('');
    else this.#narrow(this.narrowings.slice(0, -1));
  }

  #answer(key: Key): undefined {
    const asked = this.asked as { question: Question; text: string };
    const character = characterOf(key);
    if (key.name === 'return' || key.name === 'enter') this.#take(asked);
    else if (key.name === 'escape') this.asked = undefined;
    else if (key.name === 'backspace') asked.text = [...asked.text].slice(0, -1).join('');
    else if (key.ctrl && key.name === 'u') asked.text = '';
    else if (character) asked.text += character;
  }

  /** Uses the answer to the question; an invalid answer stays, so that the user can correct it. */
  #take({ question, text }: { question: Question; text: string }): void {
    try {
      if (text.trim() === '') this.message = '';
      else if (question === 'field') this.groups = new GroupList(this.shown, parseFieldPath(text, 'g'));
      else this.#narrow([...this.narrowings, this.#parts.narrowing(text)]);
      this.asked = undefined;
    } catch (error) {
      if (!(error instanceof HooktrailError)) throw error;
      this.message = error.message;
    }
  }

  #pressInGroups(key: Key): Request | undefined {
    const groups = this.groups as GroupList;
    const movement = movementOf(key, true);
    if (movement)
      groups.selected = Math.max(0, moved(groups.selected, movement, groups.groups.length, this.listRows));
    else if (key.name === 'return' || key.name === 'enter') this.#openGroup(groups);
    else if (['escape', 'backspace', 'left'].includes(key.name ?? '')) this.groups = undefined;
    else if (key.sequence === 'g') this.asked = { question: 'field', text: '' };
    else if (key.sequence === 'q') return 'leave';
    else if (key.sequence === '?') this.isHelpShown = true;
    else if (key.sequence === 'z') return 'zone';
    return undefined;
  }

  /** Goes back to the list, with the events of the selected group only. */
  #openGroup({ groups, selected, field }: GroupList): void {
    const group = groups[selected];
    if (!group) return;
    this.groups = undefined;
    this.#take({ question: 'condition', text: groupCondition(field, group) });
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
