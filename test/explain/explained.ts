import { type Explanation, searchSample } from '../../src/explain/explanation.ts';
import type { Items } from '../../src/items/items.ts';
import { EventSample } from '../../src/sample/event-sample.ts';
import { type TimeZone, UTC } from '../../src/time/time-zone.ts';

/** Explains the failures among some items, which are read as often as it takes. */
export const explainItems = (items: Items | readonly Items[], zone: TimeZone = UTC): Explanation => {
  const pages = Array.isArray(items) ? items : [items];
  const sample = new EventSample();
  for (const page of pages) sample.add(page, undefined);
  const { counts, needsSecondReading, explanation } = searchSample(sample, zone);
  if (needsSecondReading) for (const page of pages) counts.add(page, undefined);
  return explanation();
};
