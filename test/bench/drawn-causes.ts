import { Items } from '../../src/items/items.ts';
import { type Draw, drawOf, randomOf } from '../explain/planted-causes.ts';

/**
 * Histories drawn by a seed in the manner of published data, on which no threshold of `explain` was tuned.
 * Their causes are known as sets of conditions.
 */

type Value = string | number | boolean;
type Row = readonly Value[];

/** Columns of a history: their names, and the function that draws a row. */
interface Columns {
  readonly names: readonly string[];
  readonly draw: () => Row;
}

interface PlantedCondition {
  readonly column: number;
  readonly op: '=' | '!=' | '>=' | '<=';
  readonly value: Value;
}

type PlantedCause = readonly PlantedCondition[];

export interface DrawnHistory {
  readonly pages: readonly Items[];
  /** Each cause as the sorted texts of its conditions. */
  readonly causes: readonly (readonly string[])[];
}

interface Manner {
  readonly columns: (draw: Draw) => Columns;
  readonly causes: readonly number[];
  /** Operators to pick from for texts; numbers have limits. */
  readonly ops: readonly ('=' | '!=')[];
}

/** The number of events; above 24,000 `explain` searches a sample. */
const SIZES = [9_000, 40_000];
const PAGE = 1000;
/** A cause has at least this share of the events and at most that share. */
const SHARE_OF_CAUSE = [0.005, 0.4] as const;
/** A condition excludes at least this share of the events that fulfil the others, so none is needless. */
const MIN_EXCLUDED = 0.2;
/** Two causes share at most this part of the events of either. */
const MAX_SHARED = 0.5;
const ROWS_TRIED = 5000;
/** Combinations of three conditions whose events fail now and then, in noisy histories. */
const NOISY_PLACES = 12;

const MANNERS = {
  shop: { columns: shopColumns, causes: [2], ops: ['='] },
  wide: { columns: wideColumns, causes: [1, 2], ops: ['='] },
  concepts: { columns: conceptColumns, causes: [2, 3], ops: ['=', '=', '!='] },
  cdn: { columns: cdnColumns, causes: [1, 2], ops: ['='] },
} satisfies Record<string, Manner>;

export type MannerName = keyof typeof MANNERS;
export const MANNER_NAMES = Object.keys(MANNERS) as MannerName[];

/** Every other history has failures without a cause, in places more than in others. */
export function drawHistory(name: MannerName, seed: number): DrawnHistory {
  const manner: Manner = MANNERS[name];
  const draw = drawOf(randomOf(seed));
  const columns = manner.columns(draw);
  const rows = Array.from({ length: SIZES[(seed >> 1) % 2] as number }, columns.draw);
  const isNoisy = seed % 2 === 1;
  const causes = drawCauses(draw, rows, draw.pick(manner.causes), manner.ops);
  const rates = causes.map(() => 0.15 + 0.85 * draw.random());
  const background = isNoisy ? 0.005 + 0.025 * draw.random() : 0.001;
  const noisy = Array.from({ length: isNoisy ? NOISY_PLACES : 0 }, () => ({
    place: drawConditions(draw, rows, 3, ['=']),
    rate: 0.02 + 0.1 * draw.random(),
  }));
  const rateOf = (row: Row) =>
    Math.max(
      background,
      ...causes.map((cause, index) => (cause.every(holdsIn(row)) ? (rates[index] as number) : 0)),
      ...noisy.map(({ place, rate }) => (place.every(holdsIn(row)) ? rate : 0)),
    );
  const texts = rows.map((row, index) => {
    const publishStatus = draw.random() < rateOf(row) ? 'FAILED' : 'SUCCESS';
    const members = Object.fromEntries(row.map((value, column) => [columns.names[column], value]));
    return Buffer.from(JSON.stringify({ eventId: `e-${index}`, publishStatus, ...members }));
  });
  const pages = Array.from({ length: rows.length / PAGE }, (_, page) =>
    Items.of(texts.slice(page * PAGE, (page + 1) * PAGE)),
  );
  return { pages, causes: causes.map((cause) => cause.map((one) => textOf(columns, one)).sort()) };
}

function textOf({ names }: Columns, { column, op, value }: PlantedCondition): string {
  return `${names[column]} ${op} ${value}`;
}

function holdsIn(row: Row) {
  return ({ column, op, value }: PlantedCondition): boolean => {
    const own = row[column] as Value;
    if (op === '=') return own === value;
    if (op === '!=') return own !== value;
    return op === '>=' ? own >= value : own <= value;
  };
}

function drawCauses(draw: Draw, rows: readonly Row[], count: number, ops: Manner['ops']): PlantedCause[] {
  const causes: PlantedCause[] = [];
  while (causes.length < count) {
    const cause = drawConditions(draw, rows, 1 + draw.below(3), ops);
    const some = rows.slice(0, ROWS_TRIED);
    if (isIdentifiable(cause, some) && isMostlyApart(cause, causes, some)) causes.push(cause);
  }
  return causes;
}

/** Conditions on different columns that hold for at least one row. */
function drawConditions(draw: Draw, rows: readonly Row[], count: number, ops: Manner['ops']): PlantedCause {
  const row = draw.pick(rows);
  const columns = new Set<number>();
  while (columns.size < count) columns.add(draw.below(row.length));
  return [...columns].map((column) => {
    const value = row[column] as Value;
    if (typeof value === 'number') return { column, op: draw.pick(['>=', '<='] as const), value };
    const op = typeof value === 'boolean' ? '=' : draw.pick(ops);
    return { column, op, value: op === '=' ? value : (draw.pick(rows)[column] as Value) };
  });
}

/** True if the events are neither few nor most, and no condition is needless or has a simpler name. */
function isIdentifiable(cause: PlantedCause, rows: readonly Row[]): boolean {
  const own = rowsOf(cause, rows).length;
  const [least, most] = SHARE_OF_CAUSE;
  if (own < least * rows.length || own > most * rows.length) return false;
  return cause.every((one) => {
    const accepted = new Set(rowsOf([one], rows).map((row) => row[one.column]));
    if (one.op !== '=' && accepted.size < 2) return false;
    return (
      own <=
      (1 - MIN_EXCLUDED) *
        rowsOf(
          cause.filter((other) => other !== one),
          rows,
        ).length
    );
  });
}

/** True if most events of the cause, and of each other, are not those of the rest. */
function isMostlyApart(cause: PlantedCause, others: readonly PlantedCause[], rows: readonly Row[]): boolean {
  return others.every((other) => {
    const both = rowsOf([...cause, ...other], rows).length;
    return both <= MAX_SHARED * Math.min(rowsOf(cause, rows).length, rowsOf(other, rows).length);
  });
}

function rowsOf(cause: PlantedCause, rows: readonly Row[]): readonly Row[] {
  return rows.filter((row) => cause.every(holdsIn(row)));
}

/** Mostly the first of the values, as Zipf's law has it. */
function pickSkewed({ random, below }: Draw, count: number): number {
  return Math.min(count - 1, Math.floor(count * random() ** 2.5) + (random() < 0.1 ? below(3) : 0));
}

/** Page views of a shop: the category follows from the product, the price mostly. */
function shopColumns(draw: Draw): Columns {
  const { random, below, pick } = draw;
  const priceOf = Array.from({ length: 120 }, (_, product) => 20 + 15 * (product % 4) + below(20));
  return {
    names: ['month', 'view', 'country', 'category', 'product', 'colour', 'place', 'photo', 'price', 'page'],
    draw: () => {
      const product = pickSkewed(draw, 120);
      return [
        pick(['april', 'april', 'may', 'june', 'july', 'august']),
        1 + Math.floor(12 * random() ** 2),
        `c${pickSkewed(draw, 40)}`,
        ['trousers', 'skirts', 'blouses', 'sale'][product % 4] as string,
        `p${product}`,
        random() < 0.7 ? `colour${product % 14}` : `colour${below(14)}`,
        `place${1 + ((product + pickSkewed(draw, 3)) % 6)}`,
        random() < 0.25 ? 'profile' : 'face',
        (priceOf[product] as number) - (random() < 0.1 ? 5 : 0),
        1 + pickSkewed(draw, 5),
      ];
    },
  };
}

/** 66 columns that follow one of eight hidden factors, more or less. */
function wideColumns(draw: Draw): Columns {
  const { random, below } = draw;
  const columns = Array.from({ length: 66 }, (_, index) => ({
    factor: below(8),
    follows: 0.7 * random(),
    values: 2 + below(7),
    isNumber: index % 3 === 2,
  }));
  return {
    names: columns.map((_, index) => `column${index}`),
    draw: () => {
      const factors = Array.from({ length: 8 }, () => below(12));
      return columns.map(({ factor, follows, values, isNumber }) => {
        const base = random() < follows ? (factors[factor] as number) : pickSkewed(draw, 12);
        return isNumber ? base : `v${base % values}`;
      });
    },
  };
}

/** Few columns of evenly spread values, as in textbooks of concept learning. */
function conceptColumns({ random, below }: Draw): Columns {
  const values = Array.from({ length: 8 }, () => 2 + below(4));
  return {
    names: [...values.map((_, index) => `attribute${index}`), 'size', 'age', 'isOpen'],
    draw: () => [
      ...values.map((count, index) => `${'abcdefgh'[index]}${below(count)}`),
      1 + below(10),
      5 * below(16),
      random() < 0.5,
    ],
  };
}

/** Few columns, and few combinations of their values have most of the events. */
function cdnColumns(draw: Draw): Columns {
  return {
    names: ['location', 'provider', 'access', 'site'],
    draw: () => [
      `location${pickSkewed(draw, 33)}`,
      `provider${pickSkewed(draw, 4)}`,
      `access${draw.below(4)}`,
      `site${pickSkewed(draw, 20)}`,
    ],
  };
}
