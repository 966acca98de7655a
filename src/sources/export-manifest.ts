import { realpathSync } from 'node:fs';
import { access, constants, readdir, readFile, realpath, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Machine } from '../context.ts';
import { faultText, fewOf, HooktrailError, isDiskFull, ServiceError, UsageError } from '../errors.ts';
import { checkWritable, makeFolder } from '../files/folders.ts';
import { replaceFile } from '../files/whole-files.ts';
import { isTypedFilters, SHOWN_NAMES, type TypedFilters } from '../filters/event-filters.ts';
import { isObject } from '../items/items.ts';
import type { Query } from '../paging/event-query.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import { parseTime } from '../time/time-text.ts';
import { isPartitionFolder } from './partitions.ts';

/** A file of a part, as it was written. */
export interface PartitionFile {
  /** Its path below the export's directory, with `/` between names. */
  readonly file: string;
  readonly events: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** A slice of time of one query, and the file that holds its events once it was read. */
export interface Part {
  /** Its path below the export's directory; with partitions it lies in the folder of the slice's day. */
  readonly file: string;
  /** Index of its query. */
  readonly query: number;
  /** `gt(createdOn,…)` and `lt(createdOn,…)` of the slice; slices of one query overlap by a second. */
  readonly after: Instant | null;
  readonly before: Instant;
  /**
   * Events in its files or, before they are written, the number expected. Null if the service gives no count.
   */
  readonly events: number | null;
  /**
   * The events that were read between `after` and `before`. Null if the service gives no count to compare
   * them with.
   */
  readonly counted: number | null;
  /** The service's count without the query's status, if it has one, made before the part was read. */
  readonly ofAnyStatus: number | null;
  readonly bytes: number | null;
  /**
   * SHA-256 of the finished file; null until then. With partitions there is no file if it would hold no
   * event.
   */
  readonly sha256: string | null;
  /**
   * With partitions: files of the same name in other folders, of events that have another day than the slice
   * or none.
   */
  readonly strays?: readonly PartitionFile[] | undefined;
  /**
   * True if the part was finished before an update. It is not compared with the service any more, which may
   * have deleted its events.
   */
  readonly settled?: boolean;
  /** The part as it was before it was damaged, while the service no longer returns as many events. */
  readonly lost?: Lost | undefined;
}

export interface Lost {
  readonly events: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly strays?: readonly PartitionFile[] | undefined;
}

/** Times are instants in memory, and their texts in the file. */
export interface Manifest {
  readonly format: 'hooktrail-export';
  /** 2 if there are folders, 3 if the files are Parquet, which earlier versions of this program lack. */
  readonly version: 1 | 2 | 3;
  readonly hooktrail: string;
  /** The event service's base URL. */
  readonly service: string;
  /** The filters as they were typed. */
  readonly filters: TypedFilters;
  readonly gzip: boolean;
  /** Set if the parts lie in a folder for each day in UTC. */
  readonly partition?: Partition | undefined;
  /** The format of the parts, if it is not NDJSON. */
  readonly fileFormat?: FileFormat | undefined;
  /** Events created before this belong to the export: the service's time when it began, or `--until`. */
  readonly pin: Instant;
  /** The searches, each limited to the export's window. */
  readonly queries: readonly Query[];
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** Events in all parts, once the export is finished. */
  readonly events: number | null;
  /** Set while an update runs: from this time on, its parts may repeat events of settled parts. */
  readonly overlapFrom?: Instant | null;
  readonly parts: readonly Part[];
}

export type Partition = 'day';
export type FileFormat = 'parquet';

export const MANIFEST = 'manifest.json';
const PART_NAME = /^part-\d{6,}\.(?:ndjson(?:\.gz)?|parquet)$/;
const NEWEST_VERSION = 3;

/**
 * The manifest of a directory; undefined if there is none. Throws `UsageError` if the file is not a manifest.
 */
export async function readManifest(directory: string): Promise<Manifest | undefined> {
  const file = path.join(directory, MANIFEST);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ServiceError(`${file} cannot be read: ${faultText(error)}`, { cause: error });
  }
  try {
    const saved = JSON.parse(text);
    if (saved?.format !== 'hooktrail-export') throw foreign(file, 'is not the manifest of an export');
    if (saved.version > NEWEST_VERSION) throw foreign(file, 'was written by a newer version of hooktrail');
    const [queries, parts] = [saved.queries.map(restoreTimes), saved.parts.map(restoreTimes)];
    const manifest: Manifest = { ...restoreTimes<Manifest>(saved), queries, parts };
    if (isSound(manifest)) return manifest;
  } catch (error) {
    if (error instanceof UsageError) throw error;
  }
  throw foreign(file, 'is damaged');
}

export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const text = JSON.stringify(manifest, (_, value) => (isInstant(value) ? value.text : value), 2);
  await replaceFile(path.join(directory, MANIFEST), `${text}\n`);
}

/** The events in the finished parts. */
export function eventsIn({ parts }: Pick<Manifest, 'parts'>): number {
  return parts.reduce((sum, { sha256, events }) => sum + (sha256 ? (events ?? 0) : 0), 0);
}

/**
 * Throws `ServiceError` if a part was damaged and its events could not be read again in full, since the
 * service has deleted some of them meanwhile.
 */
export function checkNothingLost(directory: string, { parts }: Manifest): void {
  const lacking = parts.filter((part): part is Part & { lost: Lost } => part.lost !== undefined);
  if (lacking.length === 0) return;
  const events = lacking.reduce((sum, { lost, events }) => sum + lost.events - (events ?? 0), 0);
  throw new ServiceError(
    `${directory} lacks ${events === 1 ? 'an event' : `${events} events`} that it held before: the service does not return them any more`,
    {
      details: lacking.map(({ file, events, lost }) => `${file} has ${events} of ${lost.events} events`),
      next: 'put an undamaged copy of each such file in its place and run the same command again; the damaged ones are beside them as damaged-part-…',
    },
  );
}

/** True if the files hold only some of the events that the service counts. */
export function isFiltered({ filters }: Manifest): boolean {
  return filters['where'] !== undefined || filters['grep'] !== undefined;
}

/** The files of a finished part, in the order in which their events are read. */
export function filesOf({ file, events, bytes, sha256, strays = [] }: Part): readonly PartitionFile[] {
  const inStrays = strays.reduce((sum, stray) => sum + stray.events, 0);
  const own = { file, events: (events ?? 0) - inStrays, bytes: bytes ?? 0, sha256: sha256 ?? '' };
  // A folder that would only hold a file without events is not made.
  const isAbsent = own.bytes === 0 && own.events === 0 && folderOf(file) !== '';
  return isAbsent ? strays : [own, ...strays];
}

/** The folder that a part's file lies in; an empty text for the export's own. */
export function folderOf(file: string): string {
  return file.includes('/') ? path.posix.dirname(file) : '';
}

/** A name that comes after those of all parts, in a folder or in the export's own. */
export function partName(parts: readonly Part[], form: PartForm, folder = ''): string {
  let last = 0;
  for (const { file } of parts) last = Math.max(last, Number(/part-(\d+)/.exec(file)?.[1]));
  return path.posix.join(folder, `part-${String(last + 1).padStart(6, '0')}${endingOf(form)}`);
}

type PartForm = Pick<Manifest, 'gzip' | 'fileFormat'>;

function endingOf({ gzip, fileFormat }: PartForm): string {
  if (fileFormat === 'parquet') return '.parquet';
  return gzip ? '.ndjson.gz' : '.ndjson';
}

/** The version of the manifest of an export in this form. */
export function versionOf({ fileFormat, partition }: Pick<Identity, 'fileFormat' | 'partition'>): 1 | 2 | 3 {
  if (fileFormat) return 3;
  return partition ? 2 : 1;
}

/** The search that reads a part. */
export function partQuery({ queries }: Manifest, { query, after, before }: Part): Query {
  return { ...queries[query], after: after ?? undefined, before };
}

const TIMES = new Set(['pin', 'overlapFrom', 'after', 'before']);

/**
 * Returns the object with instants in place of their texts. A text that is no time stays one: it is not
 * sound.
 */
function restoreTimes<Of>(saved: Readonly<Record<string, unknown>>): Of {
  const members = Object.entries(saved).map(([name, value]) => {
    return [name, (TIMES.has(name) && typeof value === 'string' && parseInstant(value)) || value];
  });
  return Object.fromEntries(members);
}

function isInstant(value: unknown): value is Instant {
  return isObject(value) && 'fraction' in value;
}

/** False if a member is not what it should be, so that a damaged manifest is not misread. */
function isSound(manifest: Manifest): boolean {
  const { version, hooktrail, service, filters, gzip, pin, startedAt, queries, parts } = manifest;
  const { overlapFrom = null, finishedAt, events } = manifest;
  const isFinishedWhole = parts.every(({ sha256 }) => sha256) && events === eventsIn(manifest);
  return (
    hasKnownForm(manifest) &&
    version === versionOf(manifest) &&
    [hooktrail, service, startedAt].every(isText) &&
    isTypedFilters(filters) &&
    typeof gzip === 'boolean' &&
    isInstant(pin) &&
    (overlapFrom === null || isInstant(overlapFrom)) &&
    (finishedAt === null || (isText(finishedAt) && isFinishedWhole)) &&
    isNumberOrNull(events) &&
    queries.every(isQuery) &&
    parts.every((part) => isPart(part, manifest) && part.query < queries.length)
  );
}

/** False for a form that no version has written. */
function hasKnownForm({ partition, fileFormat, gzip }: Manifest): boolean {
  const isPartition = partition === undefined || partition === 'day';
  const isFormat = fileFormat === undefined || (fileFormat === 'parquet' && !gzip);
  return isPartition && isFormat;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isNumberOrNull(value: unknown): boolean {
  return value === null || isNumber(value);
}

function isQuery({ after, before, ...others }: Query): boolean {
  const isInTime = (after === undefined || isInstant(after)) && isInstant(before);
  return isInTime && Object.values(others).every(isText);
}

function isPart(part: Part, form: NameForm): boolean {
  const { query, after, before, events, counted, ofAnyStatus, bytes, sha256, settled, lost } = part;
  return (
    isFileName(part.file, form) &&
    isNumber(query) &&
    (after === null || isInstant(after)) &&
    isInstant(before) &&
    (sha256 === null || isText(sha256)) &&
    (settled === undefined || typeof settled === 'boolean') &&
    [events, counted, ofAnyStatus, bytes].every(isNumberOrNull) &&
    areStrays(part, form) &&
    (lost === undefined || isLost(lost, form))
  );
}

function isLost(lost: Lost, form: NameForm): boolean {
  const { events, bytes, sha256 } = lost;
  return isNumber(events) && isNumber(bytes) && isText(sha256) && areStrays(lost, form);
}

/** A name that led out of the directory would let a manifest have other files overwritten. */
function isFileName(file: unknown, { partition, fileFormat }: NameForm): boolean {
  if (!isText(file)) return false;
  if (file.endsWith('.parquet') !== (fileFormat === 'parquet')) return false;
  const names = file.split('/');
  if (partition === undefined) return names.length === 1 && PART_NAME.test(file);
  const [folder = '', name = ''] = names;
  return names.length === 2 && isPartitionFolder(folder) && PART_NAME.test(name);
}

/** What the names of an export's files depend on. */
type NameForm = Pick<Manifest, 'partition' | 'fileFormat'>;

/** True for files that can be strays of a part, which holds all of their events. */
function areStrays({ strays, events }: Pick<Part, 'strays' | 'events'>, form: NameForm) {
  if (strays === undefined) return true;
  if (form.partition === undefined || !Array.isArray(strays)) return false;
  const isFile = ({ file, events, bytes, sha256 }: PartitionFile) =>
    isFileName(file, form) && isNumber(events) && isNumber(bytes) && isText(sha256);
  return strays.every(isFile) && strays.reduce((sum, stray) => sum + stray.events, 0) <= (events ?? 0);
}

function foreign(file: string, why: string): UsageError {
  return new UsageError(`${file} ${why}`, { next: 'choose another directory, or remove this one' });
}

/** Two calls with the same identity refer to the same export. */
export type Identity = Pick<Manifest, 'service' | 'filters' | 'gzip' | 'partition' | 'fileFormat'>;

/**
 * Throws `UsageError` that names each difference if the directory holds another export than the one
 * requested.
 */
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
    const isSame = textOf(a) === textOf(b) || isSameTime(a, b);
    return isSame ? [] : [`--${SHOWN_NAMES[name] ?? name}: ${textOf(a)} there, ${textOf(b)} here`];
  });
  if (differences.length === 0) return;
  throw new UsageError(`${directory} holds another export`, {
    details: differences,
    next: 'choose another directory, or repeat the command that began this one',
  });
}

/**
 * `2026-11-01` and `2026-11-01T00:00:00Z` are one time. A span such as 7d is the same only as itself: it was
 * resolved once.
 */
function isSameTime(a: TypedFilters[string] | undefined, b: TypedFilters[string] | undefined): boolean {
  const [one, other] = [a, b].map((text) => (typeof text === 'string' ? parseTime(text) : undefined));
  return (
    one?.kind === 'instant' && other?.kind === 'instant' && compareInstants(one.instant, other.instant) === 0
  );
}

function textOf(value: TypedFilters[string] | undefined): string {
  return value === undefined ? 'not given' : [value].flat().join(', ');
}

/**
 * Creates the directory if it is missing and returns its real path, which is the same whatever path leads
 * there. Throws `UsageError` if it cannot hold an export.
 */
export async function openDirectory(directory: string, machine: Pick<Machine, 'platform'>): Promise<string> {
  try {
    makeFolder(path.resolve(directory), 0o777);
  } catch (error) {
    throw new UsageError(
      ['EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
        ? `${directory} is a file, or inside one: an export needs a directory`
        : `the directory ${directory} cannot be made: ${faultText(error)}`,
      { next: 'choose another directory', cause: error },
    );
  }
  // The system call fails on some mapped drives of Windows; Node's own implementation does not.
  const real = await realpath(directory).catch(() => realpathSync(directory));
  try {
    await access(real, constants.R_OK);
    await checkWritable(path.join(real, MANIFEST), machine);
  } catch (error) {
    throw new UsageError(`the directory ${directory} cannot be written: ${faultText(error)}`, {
      next: 'choose another directory, or change its permissions',
      cause: error,
    });
  }
  return real;
}

/** Throws `UsageError` if a directory without a manifest holds any file that is not part of an export. */
export async function checkUnused(directory: string): Promise<void> {
  const foreign = (await readdir(directory))
    .filter((name) => !isLeftOver(name) && name !== LOCK_FOLDER)
    .sort();
  if (foreign.length === 0) return;
  throw new UsageError(`${directory} is not empty and holds no export`, {
    details: fewOf(foreign),
    next: 'choose an empty directory, or one that does not exist yet',
  });
}

/** Removes half-written files that a crash left, and parts that the manifest does not list. */
export async function removeLeftOvers(directory: string, { parts, partition }: Manifest): Promise<void> {
  const listed = new Set(parts.flatMap((part) => [part.file, ...filesOf(part).map(({ file }) => file)]));
  const clean = async (folder: string) => {
    for (const name of await readdir(path.join(directory, folder))) {
      const file = path.posix.join(folder, name);
      if (isLeftOver(name) || (PART_NAME.test(name) && !listed.has(file)))
        await rm(path.join(directory, file), { force: true });
    }
  };
  await clean('');
  if (!partition) return;
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isDirectory() || !isPartitionFolder(entry.name)) continue;
    await clean(entry.name);
    // It stays where it holds anything else.
    await rmdir(path.join(directory, entry.name)).catch(() => undefined);
  }
}

/** Where processes that export into a directory lock each other out, also those in other containers. */
export const LOCK_FOLDER = '.lock';

function isLeftOver(name: string): boolean {
  if (!name.endsWith('.tmp')) return false;
  return name.startsWith(`${MANIFEST}.`) || PART_NAME.test(name.slice(0, -4));
}

/** Turns an error of the file system into one with a next step. Returns any other error unchanged. */
export async function diskFault(error: unknown, directory: string): Promise<unknown> {
  if (error instanceof HooktrailError || !(error instanceof Error)) return error;
  const full = isDiskFull(error);
  // Network errors are typed errors at this point.
  if (!full && !('syscall' in error)) return error;
  const gone = !(await stat(directory).catch(() => undefined));
  return new ServiceError(
    gone ? `the directory ${directory} is gone` : `writing to ${directory} failed: ${faultText(error)}`,
    {
      next: `${full ? 'free some space and ' : ''}run the same command again: it continues where this one stopped`,
      cause: error,
    },
  );
}
