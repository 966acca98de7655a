import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { CauseCondition } from '../../src/explain/cause-conditions.ts';
import type { Cause } from '../../src/explain/exact-counts.ts';
import { Items } from '../../src/items/items.ts';
import { explainItems } from '../explain/explained.ts';
import { type History, historyOf, KINDS, type Kind, type Scenario } from '../explain/planted-causes.ts';
import { drawHistory, MANNER_NAMES } from './drawn-causes.ts';

/** An outage whose causes are known, as counts of events by the values of their fields. */
interface LabelledOutage {
  readonly name: string;
  readonly fields: readonly string[];
  /** Each is a conjunction: a list of fields with their values. */
  readonly causes: readonly (readonly (readonly [field: string, value: string])[])[];
  /** The values of the fields, then the number of events, then how many of these failed. */
  readonly rows: readonly (readonly (string | number)[])[];
}

/** Above this number of events an outage is scaled down in proportion. */
const MAX_EVENTS = 60_000;
const FOLDS = 5;
const SEEDS_OF_KIND = 8;
const CHANCE_HISTORIES = 100;
/** Eight of each half: small and large, without and with failures that have no cause. */
const HISTORIES_OF_MANNER = 32;

/** Counts of named causes that are labels, of those that are none, and of labels that are not named. */
class Score {
  right = 0;
  wrong = 0;
  missed = 0;

  add<Named>(
    found: readonly Named[],
    labels: readonly Named[],
    isMatch = (cause: Named, label: Named) => cause === label,
  ): void {
    const named = labels.filter((label) => found.some((cause) => isMatch(cause, label))).length;
    const right = found.filter((cause) => labels.some((label) => isMatch(cause, label))).length;
    this.right += Math.min(named, right);
    this.wrong += found.length - right;
    this.missed += labels.length - named;
  }

  get f1(): number {
    return (2 * this.right) / Math.max(1, 2 * this.right + this.wrong + this.missed);
  }
}

/**
 * Prints how often `explain` names the causes that it should: of labelled outages in a file (a JSON array,
 * plain or gzip), in five folds, of drawn histories, and of histories with planted causes and without any.
 */
export function benchExplain(flags: readonly string[]): void {
  const file = flags[flags.indexOf('--labelled') + 1];
  if (flags.includes('--labelled') && file !== undefined) scoreLabelled(file, flags.includes('--wrong'));
  scoreDrawn(flags.includes('--wrong'));
  scorePlanted(flags.includes('--wrong'));
}

function scoreLabelled(file: string, showsWrong: boolean): void {
  const bytes = readFileSync(file);
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const outages: LabelledOutage[] = JSON.parse(String(isGzip ? gunzipSync(bytes) : bytes));
  const all = Array.from({ length: FOLDS }, () => new Score());
  const first = Array.from({ length: FOLDS }, () => new Score());
  const [sum, sumOfFirst] = [new Score(), new Score()];
  for (const [index, outage] of outages.entries()) {
    const labels = [...new Set(outage.causes.map((cause) => keyOf(cause)))];
    const found = explainItems(pagesOf(outage)).causes.map(({ conditions }) => keyOfConditions(conditions));
    for (const score of [all[index % FOLDS], sum]) score?.add(found, labels);
    // The first answer is held against one label: it can name no more.
    for (const score of [first[index % FOLDS], sumOfFirst]) score?.add(found.slice(0, 1), labels);
    if (showsWrong && !areSame(found, labels))
      console.log(`  ${outage.name}: ${labels.join(' | ')}; named ${found.join(' | ') || 'none'}`);
  }
  const folds = (scores: readonly Score[]) => scores.map(({ f1 }) => f1.toFixed(2)).join(' ');
  console.log(`explain, ${outages.length} labelled outages, F1`);
  console.log(`  all causes   ${sum.f1.toFixed(3)}  (folds ${folds(all)})`);
  console.log(`  first cause  ${sumOfFirst.f1.toFixed(3)}  (folds ${folds(first)})`);
}

function keyOf(cause: readonly (readonly [string, string])[]): string {
  return cause
    .map(([field, value]) => `${field} = ${field}_${value}`)
    .sort()
    .join(' and ');
}

function keyOfConditions(conditions: readonly CauseCondition[]): string {
  return conditions
    .map(({ field, op, value }) => `${field} ${op} ${value}`)
    .sort()
    .join(' and ');
}

function pagesOf({ fields, rows }: LabelledOutage): Items[] {
  const counted = rows.map((row) => ({
    values: row.slice(0, fields.length),
    events: Number(row[fields.length]),
    failed: Number(row[fields.length + 1]),
  }));
  const total = counted.reduce((sum, { events }) => sum + events, 0);
  const scale = Math.min(1, MAX_EVENTS / total);
  // What is left of a fraction is carried on to the next row.
  const carried = { failed: 0, delivered: 0 };
  const scaled = (name: keyof typeof carried, number: number) => {
    const exact = number * scale + carried[name];
    const whole = Math.floor(exact + 1e-9);
    carried[name] = exact - whole;
    return whole;
  };
  let id = 0;
  return counted.map(({ values, events, failed }) => {
    const named = Object.fromEntries(fields.map((field, at) => [field, `${field}_${values[at]}`]));
    const eventOf = (publishStatus: string) =>
      Buffer.from(JSON.stringify({ eventId: `e-${id++}`, publishStatus, ...named }));
    const failures = Array.from({ length: scaled('failed', failed) }, () => eventOf('FAILED'));
    const successes = Array.from({ length: scaled('delivered', events - failed) }, () => eventOf('SUCCESS'));
    return Items.of([...failures, ...successes]);
  });
}

/** In two halves: what was chosen by one can be measured by the other. */
function scoreDrawn(showsWrong: boolean): void {
  console.log(`explain, ${HISTORIES_OF_MANNER} drawn histories of each manner, F1 of all causes`);
  for (const name of MANNER_NAMES) {
    const [exact, useful] = [new Score(), new Score()];
    const halves = [new Score(), new Score()];
    for (let seed = 0; seed < HISTORIES_OF_MANNER; seed++) {
      const history = drawHistory(name, seed);
      const labels = history.causes.map((cause) => cause.join(' and '));
      const found = explainItems(history.pages).causes.map(({ conditions }) => keyOfConditions(conditions));
      exact.add(found, labels);
      halves[(seed >> 2) % 2]?.add(found, labels);
      useful.add(found, labels, (cause, label) => differencesOf(cause, label) <= 1);
      if (showsWrong && !areSame(found, labels))
        console.log(`  ${name} ${seed}: ${labels.join(' | ')}; named ${found.join(' | ') || 'none'}`);
    }
    const ofHalves = halves.map(({ f1 }) => f1.toFixed(2)).join(' ');
    console.log(
      `  ${name}: ${exact.f1.toFixed(3)} (halves ${ofHalves}), but for one condition ${useful.f1.toFixed(3)}`,
    );
  }
}

function areSame(found: readonly string[], labels: readonly string[]): boolean {
  return found.length === labels.length && found.every((cause) => labels.includes(cause));
}

/** The number of conditions that only one of the two causes has. */
function differencesOf(cause: string, label: string): number {
  const [own, others] = [cause.split(' and '), label.split(' and ')];
  const both = own.filter((condition) => others.includes(condition)).length;
  return own.length + others.length - 2 * both;
}

function scorePlanted(showsWrong: boolean): void {
  let histories = 0;
  let firstRight = 0;
  let exact = 0;
  for (const kind of KINDS) {
    let ofKind = 0;
    for (let seed = 0; seed < SEEDS_OF_KIND; seed++) {
      const history = historyOf(scenarioOf(kind, 7000 + seed));
      const { causes } = explained(history);
      const isRight = (cause: Cause) => history.causes.some((planted) => namesFields(cause, planted.fields));
      histories++;
      if (causes[0] && isRight(causes[0])) ofKind++;
      if (causes.length === history.causes.length && causes.every(isRight)) exact++;
      else if (showsWrong) console.log(`  ${kind} ${seed}: ${textsOf(causes).join(' | ') || 'none'}`);
    }
    console.log(`  ${kind}: first right in ${ofKind} of ${SEEDS_OF_KIND}`);
    firstRight += ofKind;
  }
  let named = 0;
  for (let seed = 0; seed < CHANCE_HISTORIES; seed++)
    if (explained(historyOf(scenarioOf('chance', 9000 + seed))).causes.length > 0) named++;
  console.log(`explain, ${histories} histories with planted causes of ${KINDS.length} kinds`);
  console.log(`  first cause right  ${(firstRight / histories).toFixed(2)}`);
  console.log(`  all causes right   ${(exact / histories).toFixed(2)}`);
  console.log(`  a cause named where there is none: ${named} of ${CHANCE_HISTORIES} histories`);
}

function textsOf(causes: readonly Cause[]): string[] {
  return causes.map(({ conditions }) => keyOfConditions(conditions));
}

function scenarioOf(kind: Kind, seed: number): Scenario {
  const isChance = kind === 'chance';
  const rates = [0.5, 0.7, 0.9];
  const backgrounds = isChance ? [0.01, 0.05, 0.2, 0.5] : [0.01, 0.02, 0.04];
  return {
    kind,
    seed,
    events: 1500,
    rate: rates[seed % rates.length] as number,
    background: backgrounds[seed % backgrounds.length] as number,
    decoys: seed % 2 === 0,
    effects: seed % 4 < 2,
  };
}

function explained({ items }: History) {
  return explainItems(items);
}

/** Of several fields that say the same, any may be the name. */
function namesFields({ conditions, same }: Cause, fields: readonly string[]): boolean {
  const named = [...new Set(conditions.map(({ field }) => field))];
  const alike = same.map(({ field }) => field);
  return named.length === fields.length && fields.every((field) => [...named, ...alike].includes(field));
}
