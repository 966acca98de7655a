import { type Explanation, FailureReading } from '../../src/explain/failure-reading.ts';
import type { Items } from '../../src/items/items.ts';
import { EventSample } from '../../src/sample/event-sample.ts';
import { type SampleTable, tableOfSample } from '../../src/sample/sample-table.ts';
import { type TimeZone, UTC } from '../../src/time/time-zone.ts';

/** Explains the failures among some items, which are read as often as it takes. */
export const explainItems = (items: Items | readonly Items[], zone?: TimeZone): Explanation => {
  const pages = Array.isArray(items) ? items : [items];
  const reading = new FailureReading();
  for (const page of pages) reading.see(page, undefined);
  if (reading.search(zone)) for (const page of pages) reading.count(page, undefined);
  return reading.explanation;
};

/** Items as the columns that causes are looked for in. */
export const tableOf = (items: Items, zone: TimeZone = UTC): SampleTable => {
  const sample = new EventSample();
  sample.add(items, undefined);
  return tableOfSample(sample, zone);
};
