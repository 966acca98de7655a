import path from 'node:path';
import { isObject } from '../items/items.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import { isPartitionFolder } from './partitions.ts';

export interface PartitionFile {
  readonly file: string;
  readonly events: number;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Part {
  readonly file: string;
  readonly query: number;
  /** Exclusive bounds; slices of a query overlap by a second. */
  readonly after: Instant | null;
  readonly before: Instant;
  /** The service's count, until the part is read; null if it gives none. */
  readonly expected: number | null;
  /** Undefined until the part is read. */
  readonly read?: PartRead | undefined;
  /** True if the part is not compared with the service, which may have deleted its events. */
  readonly isSettled: boolean;
  /** The reading whose files were damaged, until the service has returned as many events again. */
  readonly lost?: PartRead | undefined;
}

export interface PartRead {
  readonly held: Held;
  /** Before this program's filters. Null if the service gives no count to compare with. */
  readonly counted: number | null;
  /** The service's count without the status filter, if there is one, from before the part was read. */
  readonly ofAnyStatus: number | null;
}

export interface Held {
  readonly events: number;
  readonly bytes: number;
  /** Of the part's own file. With partitions an empty one is not written. */
  readonly sha256: string;
  /** With partitions: files of the same name in folders of other days, or of events without a time. */
  readonly strays?: readonly PartitionFile[] | undefined;
}

export function withReading(part: Part, read: PartRead): Part {
  const isLost = part.lost && read.held.events < part.lost.held.events;
  return { ...part, expected: null, read, lost: isLost ? part.lost : undefined };
}

export function toBeReadAgain(part: Part): Part {
  return part.read ? { ...part, expected: part.read.held.events, read: undefined } : part;
}

/** For a part with damaged files. After repeated damage it keeps the first reading. */
export function damagedPart(part: Part): Part {
  return { ...toBeReadAgain(part), lost: part.lost ?? part.read };
}

export function trimmedPart(part: Part, file: string, held: Held): Part {
  const { read, lost } = part;
  if (!read) return part;
  if (!lost) return { ...part, file, read: { ...read, held } };
  const removed = read.held.events - held.events;
  // Clear the checksum: a copy of the whole part does not replace the rest of it.
  const left = { ...lost.held, events: lost.held.events - removed, sha256: '' };
  return { ...part, file, read: { ...read, held }, lost: { ...lost, held: left } };
}

export function lossOf({ file, read, lost }: Part) {
  return lost && { file, held: read?.held.events ?? 0, heldBefore: lost.held.events };
}

export function eventsIn(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + (part.read?.held.events ?? 0), 0);
}

export function filesOf({ file, read }: Part): readonly PartitionFile[] {
  return read ? filesHolding(file, read.held) : [];
}

export function filesHolding(
  file: string,
  { events, bytes, sha256, strays = [] }: Held,
): readonly PartitionFile[] {
  const inStrays = strays.reduce((sum, stray) => sum + stray.events, 0);
  const own = { file, events: events - inStrays, bytes, sha256 };
  // No folder is created for an empty file.
  const isAbsent = own.bytes === 0 && own.events === 0 && folderOf(file) !== '';
  return isAbsent ? strays : [own, ...strays];
}

export function folderOf(file: string): string {
  return file.includes('/') ? path.posix.dirname(file) : '';
}

export function overlap(one: Part, other: Part): boolean {
  const reachesInto = ({ after }: Part, { before }: Part) =>
    after === null || compareInstants(after, before) < 0;
  return one.query === other.query && reachesInto(one, other) && reachesInto(other, one);
}

/** True for a settled part whose events an update may have read again. */
export function mayRepeat({ isSettled, before }: Part, overlapFrom: Instant): boolean {
  return isSettled && compareInstants(before, overlapFrom) > 0;
}

export interface PartForm {
  readonly gzip: boolean;
  readonly partition?: Partition | undefined;
  readonly fileFormat?: FileFormat | undefined;
}

export type Partition = 'day';
export type FileFormat = 'parquet';

const PART_NAME = /^part-\d{6,}\.(?:ndjson(?:\.gz)?|parquet)$/;

export function isPartName(name: string): boolean {
  return PART_NAME.test(name);
}

export function createNamer(parts: readonly Part[], form: PartForm): (folder?: string) => string {
  let last = 0;
  for (const { file } of parts) last = Math.max(last, Number(/part-(\d+)/.exec(file)?.[1]));
  return (folder = '') => {
    last++;
    return path.posix.join(folder, `part-${String(last).padStart(6, '0')}${endingOf(form)}`);
  };
}

function endingOf({ gzip, fileFormat }: PartForm): string {
  if (fileFormat === 'parquet') return '.parquet';
  return gzip ? '.ndjson.gz' : '.ndjson';
}

/** A part in the manifest. */
export interface SavedPart extends Pick<Part, 'file' | 'query' | 'after' | 'before'> {
  /** In its files, or expected. */
  readonly events: number | null;
  readonly counted: number | null;
  readonly ofAnyStatus: number | null;
  /** Null until the part is read, like `sha256`. */
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly strays?: readonly PartitionFile[] | undefined;
  readonly settled?: boolean | undefined;
  readonly lost?: Held | undefined;
}

export function savedPart(part: Part): SavedPart {
  const { file, query, after, before, expected, read, isSettled, lost } = part;
  const { events, bytes, sha256, strays } = read?.held ?? { ...NOTHING_HELD, events: expected };
  const { counted = null, ofAnyStatus = null } = read ?? lost ?? {};
  const slice = { file, query, after, before };
  const settled = isSettled ? true : undefined;
  return { ...slice, events, counted, ofAnyStatus, bytes, sha256, strays, settled, lost: lost?.held };
}

const NOTHING_HELD = { bytes: null, sha256: null, strays: undefined };

/** Requires a sound part. */
export function restoredPart(saved: SavedPart): Part {
  const { file, query, after, before, events, counted, ofAnyStatus, bytes, sha256, strays } = saved;
  const held = sha256 ? { events: events ?? 0, bytes: bytes ?? 0, sha256, strays } : undefined;
  const slice = { file, query, after, before };
  return {
    ...slice,
    expected: held ? null : events,
    read: held && { held, counted, ofAnyStatus },
    isSettled: saved.settled === true,
    lost: saved.lost && { held: saved.lost, counted, ofAnyStatus },
  };
}

export function isSoundPart(part: SavedPart, form: NameForm): boolean {
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

function isLost(lost: Held, form: NameForm): boolean {
  const { events, bytes, sha256 } = lost;
  return isNumber(events) && isNumber(bytes) && isText(sha256) && areStrays(lost, form);
}

/** A path outside the directory would let a manifest overwrite other files. */
function isFileName(file: unknown, { partition, fileFormat }: NameForm): boolean {
  if (!isText(file)) return false;
  if (file.endsWith('.parquet') !== (fileFormat === 'parquet')) return false;
  if (partition === undefined) return isPartName(file);
  const names = file.split('/');
  const [folder = '', name = ''] = names;
  return names.length === 2 && isPartitionFolder(folder) && isPartName(name);
}

type NameForm = Pick<PartForm, 'partition' | 'fileFormat'>;

/** Strays cannot have more events than the whole part. */
function areStrays({ strays, events }: Pick<SavedPart, 'strays' | 'events'>, form: NameForm): boolean {
  if (strays === undefined) return true;
  if (form.partition === undefined || !Array.isArray(strays)) return false;
  const isFile = ({ file, events, bytes, sha256 }: PartitionFile) =>
    isFileName(file, form) && isNumber(events) && isNumber(bytes) && isText(sha256);
  return strays.every(isFile) && strays.reduce((sum, stray) => sum + stray.events, 0) <= (events ?? 0);
}

export function isInstant(value: unknown): value is Instant {
  return isObject(value) && 'fraction' in value;
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isNumberOrNull(value: unknown): boolean {
  return value === null || isNumber(value);
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
