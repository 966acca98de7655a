import { hash } from 'node:crypto';
import path from 'node:path';
import { faultText, ServiceError, UsageError } from '../errors.ts';
import { readRegularFile, replaceFile } from '../files/whole-files.ts';
import {
  type EventFilters,
  isTypedFilters,
  SHOWN_NAMES,
  type TypedFilters,
} from '../filters/event-filters.ts';
import type { Condition } from '../items/item-conditions.ts';
import type { Query } from '../paging/event-query.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import { parseTime } from '../time/time-text.ts';
import {
  isInstant,
  isNumberOrNull,
  isSoundPart,
  isText,
  lossOf,
  type Part,
  type PartForm,
  restoredPart,
  type SavedPart,
  savedPart,
} from './export-part.ts';

/** Times are instants in memory, texts in the file. */
export interface Manifest extends PartForm {
  readonly format: 'hooktrail-export';
  readonly version: typeof VERSION;
  readonly hooktrail: string;
  readonly service: string;
  /** As typed, with checksums of values that conditions read from files. */
  readonly filters: TypedFilters;
  /** Exclusive end of the export: the service's time when it began, or `--until`. */
  readonly pin: Instant;
  readonly queries: readonly Query[];
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly events: number | null;
  /** Set during an update: its parts may repeat events of settled parts from this time on. */
  readonly overlapFrom?: Instant | null;
  readonly parts: readonly Part[];
}

type SavedManifest = Omit<Manifest, 'parts'> & { readonly parts: readonly SavedPart[] };

export const MANIFEST = 'manifest.json';
const VERSION = 1;

/** Undefined if there is none. Throws `UsageError` if the file is not a manifest. */
export async function readManifest(directory: string): Promise<Manifest | undefined> {
  const file = path.join(directory, MANIFEST);
  let text: string;
  try {
    text = readRegularFile(file).toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ServiceError(`${file} cannot be read: ${faultText(error)}`, { cause: error });
  }
  try {
    const saved = JSON.parse(text);
    if (saved?.format !== 'hooktrail-export') throw foreign(file, 'is not the manifest of an export');
    if (saved.version > VERSION)
      throw foreign(
        file,
        'was written by a newer version of hooktrail',
        'upgrade hooktrail, or choose another directory',
      );
    const [queries, parts] = [saved.queries.map(restoreTimes), saved.parts.map(restoreTimes)];
    const manifest: SavedManifest = { ...restoreTimes<SavedManifest>(saved), queries, parts };
    if (isSound(manifest)) return { ...manifest, parts: manifest.parts.map(restoredPart) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
  }
  // The service may have deleted the events in the files.
  throw foreign(
    file,
    'is damaged',
    'choose another directory; --from reads the files of this one, each by itself',
  );
}

export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  await createManifestWriter(directory)(manifest);
}

/**
 * Keeps the lines of unchanged parts. An export saves after each part, and formatting 20,000 of them takes
 * half a second.
 */
export function createManifestWriter(directory: string): (manifest: Manifest) => Promise<void> {
  const lines = new WeakMap<Part, string>();
  const lineOf = (part: Part) => {
    const known = lines.get(part);
    const line = known ?? `    ${JSON.stringify(savedPart(part), timesAsTexts)}`;
    if (known === undefined) lines.set(part, line);
    return line;
  };
  return async ({ parts, ...head }) => {
    const headText = JSON.stringify(head, timesAsTexts, 2).replace(/\n}$/, '');
    const partsText = parts.length === 0 ? '[]' : `[\n${parts.map(lineOf).join(',\n')}\n  ]`;
    await replaceFile(path.join(directory, MANIFEST), `${headText},\n  "parts": ${partsText}\n}\n`);
  };
}

function timesAsTexts(_: string, value: unknown): unknown {
  return isInstant(value) ? value.text : value;
}

/** Throws `ServiceError` if the service has deleted events of a damaged part. */
export function checkNothingLost(directory: string, { parts }: Manifest): void {
  const lacking = parts.flatMap((part) => lossOf(part) ?? []);
  if (lacking.length === 0) return;
  const events = lacking.reduce((sum, { held, heldBefore }) => sum + heldBefore - held, 0);
  throw new ServiceError(
    `${directory} lacks ${events === 1 ? 'an event' : eventsText(events)} that it held before: the service no longer returns them`,
    {
      details: lacking.map(
        ({ file, held, heldBefore }) => `${file} has ${grouped(held)} of ${eventsText(heldBefore)}`,
      ),
      next: 'put an undamaged copy of each such file in its place and run the same command again; the damaged ones are in the same folder as damaged-part-…',
    },
  );
}

/** True if the files omit some of the events that the service counts. */
export function isFiltered({ filters }: Manifest): boolean {
  return filters['where'] !== undefined || filters['grep'] !== undefined;
}

export function partQuery({ queries }: Manifest, { query, after, before }: Part): Query {
  return { ...queries[query], after: after ?? undefined, before };
}

const TIMES = new Set(['pin', 'overlapFrom', 'after', 'before']);

/** Parses times. An invalid time stays a string, which `isSound` rejects. */
function restoreTimes<Of>(saved: Readonly<Record<string, unknown>>): Of {
  const members = Object.entries(saved).map(([name, value]) => {
    return [name, (TIMES.has(name) && typeof value === 'string' && parseInstant(value)) || value];
  });
  return Object.fromEntries(members);
}

/** Guards against a damaged manifest. */
function isSound(manifest: SavedManifest): boolean {
  const { version, hooktrail, service, filters, gzip, pin, startedAt, queries, parts } = manifest;
  const { overlapFrom = null, finishedAt, events } = manifest;
  const eventsInParts = parts.reduce((sum, part) => sum + (part.events ?? 0), 0);
  const isFinishedWhole = parts.every(({ sha256 }) => sha256) && events === eventsInParts;
  return (
    hasKnownForm(manifest) &&
    version === VERSION &&
    [hooktrail, service, startedAt].every(isText) &&
    isTypedFilters(filters) &&
    typeof gzip === 'boolean' &&
    isInstant(pin) &&
    (overlapFrom === null || isInstant(overlapFrom)) &&
    (finishedAt === null || (isText(finishedAt) && isFinishedWhole)) &&
    isNumberOrNull(events) &&
    queries.every(isQuery) &&
    parts.every((part) => isSoundPart(part, manifest) && part.query < queries.length)
  );
}

/** False for forms that were never written. */
function hasKnownForm({ partition, fileFormat, gzip }: PartForm): boolean {
  const isPartition = partition === undefined || partition === 'day';
  const isFormat = fileFormat === undefined || (fileFormat === 'parquet' && !gzip);
  return isPartition && isFormat;
}

function isQuery({ after, before, ...others }: Query): boolean {
  const isInTime = (after === undefined || isInstant(after)) && isInstant(before);
  return isInTime && Object.values(others).every(isText);
}

function foreign(file: string, why: string, next = 'choose another directory'): UsageError {
  return new UsageError(`${file} ${why}`, { next });
}

export type Identity = Pick<Manifest, 'service' | 'filters' | 'gzip' | 'partition' | 'fileFormat'>;

/** Adds checksums, so changed values in a condition's file are a different filter. */
export function identityOfFilters(filters: EventFilters): TypedFilters {
  const where = filters.conditions.map(conditionIdentity).sort();
  return { ...filters.typed(), ...(where.length > 0 ? { where } : {}) };
}

/** Conditions with equal texts and checksums select the same events. */
function conditionIdentity({ text, file, alternatives = [] }: Condition): string {
  if (file === undefined) return text;
  const values = [...new Set(alternatives.map((alternative) => alternative.text))].sort();
  const checksum = hash('sha256', JSON.stringify(values)).slice(0, 16);
  return `${text} (${values.length === 1 ? '1 value' : `${values.length} values`}, checksum ${checksum})`;
}

/** Throws `UsageError` that lists the differences. */
export function checkSame(directory: string, there: Identity, here: Identity): void {
  const named = ({ service, filters, gzip, partition, fileFormat }: Identity): TypedFilters => ({
    ...{ 'base-url': service, ...filters },
    ...(gzip ? { gzip: 'given' } : {}),
    ...(partition ? { partition } : {}),
    ...(fileFormat ? { format: fileFormat } : {}),
  });
  const [one, other] = [named(there), named(here)];
  const differences = Object.keys({ ...one, ...other }).flatMap((name) => {
    const [a, b] = [one[name], other[name]];
    const isSame = isSameChoice(a, b) || isSameTime(a, b);
    return isSame ? [] : [`--${SHOWN_NAMES[name] ?? name}: ${textOf(a)} there, ${textOf(b)} here`];
  });
  if (differences.length === 0) return;
  throw new UsageError(`${directory} holds another export`, {
    details: differences,
    next: 'choose another directory, or repeat the command that began this one',
  });
}

/** The order of values does not matter. */
function isSameChoice(a: TypedFilters[string] | undefined, b: TypedFilters[string] | undefined): boolean {
  const [one, other] = [a, b].map((value) => JSON.stringify([value ?? null].flat().sort()));
  return one === other;
}

/** A span such as 7d equals only itself, since it was resolved once. */
function isSameTime(a: TypedFilters[string] | undefined, b: TypedFilters[string] | undefined): boolean {
  const [one, other] = [a, b].map((text) => (typeof text === 'string' ? parseTime(text) : undefined));
  return (
    one?.kind === 'instant' && other?.kind === 'instant' && compareInstants(one.instant, other.instant) === 0
  );
}

function textOf(value: TypedFilters[string] | undefined): string {
  return value === undefined ? 'not given' : [value].flat().join(', ');
}
