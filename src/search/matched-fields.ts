import type { Items } from '../items/items.ts';
import { findField } from '../items/whole-words.ts';
import { eventsText, grouped, terminalSafeLine } from '../terminal/terminal-text.ts';

/** Fields that are named before the rest is counted. */
const MAX_NAMED = 5;

/** Counts the fields in which events have any of some texts first: which is meant is seen at a glance. */
export class MatchedFields {
  readonly #holds: (value: string) => boolean;
  readonly #counts = new Map<string, number>();
  #inNames = 0;

  constructor(texts: readonly string[]) {
    const wanted = texts.map((text) => text.toLowerCase());
    this.#holds = (value) => {
      const lower = value.toLowerCase();
      return wanted.some((text) => lower.includes(text));
    };
  }

  add(items: Items): void {
    for (let item = 0; item < items.count; item++) {
      const field = findField(items.bytes, items.start(item), items.end(item), this.#holds);
      if (field === undefined) this.#inNames++;
      else this.#counts.set(field, (this.#counts.get(field) ?? 0) + 1);
    }
  }

  /** `found first in eventData.body.name (12 events), actor (3)`; undefined without events. */
  text(): string | undefined {
    const fields = [...this.#counts].sort(([, a], [, b]) => b - a);
    const named = fields.slice(0, MAX_NAMED).map(([field, count]) => ({ field, count }));
    const others = fields.slice(MAX_NAMED).reduce((sum, [, count]) => sum + count, 0);
    const places = [
      ...named,
      ...(others > 0 ? [{ field: 'other fields', count: others }] : []),
      ...(this.#inNames > 0 ? [{ field: 'the name of a member', count: this.#inNames }] : []),
    ];
    if (places.length === 0) return undefined;
    const texts = places.map(({ field, count }, index) => {
      const number = index === 0 ? eventsText(count) : grouped(count);
      return `${terminalSafeLine(field)} (${number})`;
    });
    return `found first in ${texts.join(', ')}`;
  }
}
