import { type EventGroup, EventGroups } from '../events/group-events.ts';
import type { FieldPath } from '../items/field-path.ts';
import type { FilteredList } from './event-list.ts';

/** The shown events that were read so far, grouped by a field, and which group is selected. */
export class GroupList {
  readonly field: FieldPath;
  readonly #events: FilteredList;
  readonly #counted: EventGroups;
  #looked = 0;
  /** The largest first. */
  groups: readonly EventGroup[] = [];
  selected = 0;
  /** The first row on the screen. */
  top = 0;

  constructor(events: FilteredList, field: FieldPath) {
    this.#events = events;
    this.field = field;
    this.#counted = new EventGroups([field]);
  }

  /** Events in all groups. */
  get total(): number {
    return this.#counted.total;
  }

  /** Counts the events that were read since the last call. The selected group stays selected. Throws `ServiceError` if the groups become too many. */
  update(): void {
    const { list, places } = this.#events;
    if (this.#looked === places.length) return;
    for (; this.#looked < places.length; this.#looked++)
      this.#counted.add(list.at(places[this.#looked] as number));
    const selected = this.groups[this.selected];
    this.groups = this.#counted.largest();
    if (selected && this.selected > 0) this.selected = this.groups.indexOf(selected);
  }
}
