import { ComparisonTable } from '../../src/events/comparison-table.ts';
import { explainTable } from '../../src/events/explain-table.ts';
import { lnChance } from '../../src/events/find-causes.ts';
import {
  drawOf,
  type History,
  historyOf,
  KINDS,
  type Kind,
  randomOf,
  type Scenario,
} from '../support/planted-causes.ts';

/**
 * `npm run bench:explain [RUNS [KIND]] [-v]`: plants causes of each kind in invented histories and counts how often the first
 * one is named first, of those that chance explains with less than one in ten million; and what is named in pure chance.
 */
function explain(history: History) {
  const table = new ComparisonTable();
  table.add(history.items);
  return explainTable(table);
}

const total = Number(process.argv[2] ?? 20);
const only = process.argv[3];
const verbose = process.argv.includes('-v');
for (const kind of [...KINDS, 'chance'] as const) {
  if (only && only !== '-v' && only !== kind) continue;
  let found = 0;
  let detectable = 0;
  let named = 0;
  let extra = 0;
  const misses: string[] = [];
  const started = performance.now();
  for (let run = 0; run < total; run++) {
    const seed = run * 977 + KINDS.indexOf(kind as never) * 31 + 5;
    const { pick } = drawOf(randomOf(seed + 1));
    const scenario: Scenario = {
      kind: kind as Kind,
      seed,
      events: pick([300, 600, 1000, 3000, 8000, 20_000]),
      rate: pick([0.2, 0.4, 0.6, 0.8, 1]),
      background: kind === 'chance' ? pick([0.01, 0.05, 0.2, 0.5]) : pick([0, 0.01, 0.03, 0.05]),
      decoys: kind !== 'chance' && pick([true, false]),
      effects: pick([true, false]),
    };
    const history = historyOf(scenario);
    const { causes } = explain(history);
    if (causes.length > 0) named++;
    const [first] = history.causes;
    if (!first) {
      if (causes.length > 0)
        misses.push(
          `${JSON.stringify(scenario)} ${JSON.stringify(causes[0]?.conditions.map((c) => c.text))} ${causes[0]?.p}`,
        );
      continue;
    }
    const p = Math.max(
      ...[first].map(({ holds }) => {
        const inside = history.events.filter(holds);
        const isFailed = (event: (typeof inside)[number]) => event['publishStatus'] === 'FAILED';
        const countOf = (events: History['events']) => ({
          events: events.length,
          failed: events.filter(isFailed).length,
        });
        return lnChance(countOf(inside), countOf(history.events));
      }),
    );
    if (p > Math.log(1e-7)) continue;
    detectable++;
    const isRight = (number: number) => {
      const cause = causes[number];
      if (!cause) return false;
      const fields = new Set(cause.conditions.map(({ field }) => field));
      const all = new Set([...cause.conditions, ...cause.same].map(({ field }) => field));
      return history.causes.some(
        (planted) =>
          planted.fields.every((field) => all.has(field)) && fields.size <= new Set(planted.fields).size,
      );
    };
    const isFound = isRight(0) && (history.causes.length === 1 || isRight(1));
    if (causes.length > history.causes.length) extra++;
    if (isFound) found++;
    else
      misses.push(
        `${JSON.stringify(scenario)} ln p ${p.toFixed(0)} planted ${history.causes.map((c) => c.fields.join('+'))} got ${JSON.stringify(causes.map((c) => [c.conditions.map(({ text }) => text).join(' & '), `${c.failed}/${c.events}`, c.p.toExponential(1)]))}`,
      );
  }
  console.log(
    `${kind.padEnd(16)} ${kind === 'chance' ? `named ${named} of ${total}` : `found ${found} of ${detectable} (${total}), extra ${extra}`}  ${Math.round((performance.now() - started) / total)} ms`,
  );
  if (verbose) for (const miss of misses.slice(0, 6)) console.log('   ', miss);
}
