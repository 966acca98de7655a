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
  readonly content: Content | Lost;
}

export type Content = Planned | Written | Settled;

export interface Planned {
  readonly state: 'planned';
  /** The service's count; null if it gives none. */
  readonly expected: number | null;
  /** True if the part repairs a finished export, so it is settled once read. */
  readonly isRepair: boolean;
}

export interface PartRead {
  readonly held: Held;
  /** Before this program's filters. Null if the service gives no count to compare with. */
  readonly counted: number | null;
  /** The service's count without the status filter, if there is one, from before the part was read. */
  readonly ofAnyStatus: number | null;
}

/** Compared with the service until the export is finished. */
export interface Written extends PartRead {
  readonly state: 'written';
}

/** No longer compared with the service, which may have deleted its events. */
export interface Settled extends PartRead {
  readonly state: 'settled';
}

/** A damaged part whose events the service has not returned in full. */
export interface Lost {
  readonly state: 'lost';
  readonly original: PartRead;
  readonly now: Content;
}

export interface Held {
  readonly events: number;
  readonly bytes: number;
  /** Of the part's own file. With partitions an empty one is not written. */
  readonly sha256: string;
  /** With partitions: files of the same name in folders of other days, or of events without a time. */
  readonly strays?: readonly PartitionFile[] | undefined;
}

export function contentOf({ content }: Part): Content {
  return content.state === 'lost' ? content.now : content;
}

export function heldBy(part: Part): Held | undefined {
  const content = contentOf(part);
  return content.state === 'planned' ? undefined : content.held;
}

export function isSettled(part: Part): boolean {
  const content = contentOf(part);
  return content.state === 'settled' || (content.state === 'planned' && content.isRepair);
}

/** True if the part was read without a count from the service. */
export function isUncounted(part: Part): boolean {
  const content = contentOf(part);
  return content.state !== 'planned' && content.counted === null;
}

/** A loss remains until the part has as many events as before. */
export function withContent(part: Part, now: Content): Part {
  const { content } = part;
  if (content.state !== 'lost') return { ...part, content: now };
  const isWhole = now.state !== 'planned' && now.held.events >= content.original.held.events;
  return { ...part, content: isWhole ? now : { ...content, now } };
}

export function toBeReadAgain(part: Part): Part {
  const held = heldBy(part);
  if (!held) return part;
  return withContent(part, { state: 'planned', expected: held.events, isRepair: isSettled(part) });
}

/** For a part with damaged files. After repeated damage it keeps the first original. */
export function damagedPart(part: Part): Part {
  const { content } = toBeReadAgain(part);
  if (content.state === 'lost') return { ...part, content };
  const before = contentOf(part);
  if (before.state === 'planned' || content.state !== 'planned') return part;
  const { held, counted, ofAnyStatus } = before;
  return { ...part, content: { state: 'lost', original: { held, counted, ofAnyStatus }, now: content } };
}

export function trimmedPart(part: Part, file: string, held: Held): Part {
  const content = contentOf(part);
  if (content.state === 'planned') return part;
  const now: Content = { ...content, held };
  if (part.content.state !== 'lost') return { ...part, file, content: now };
  const { original } = part.content;
  const removed = content.held.events - held.events;
  // Clear the checksum: a copy of the whole part does not replace the rest of it.
  const left = { ...original.held, events: original.held.events - removed, sha256: '' };
  return { ...part, file, content: { state: 'lost', original: { ...original, held: left }, now } };
}

export function lossOf(part: Part): { file: string; held: number; heldBefore: number } | undefined {
  const { file, content } = part;
  if (content.state !== 'lost') return undefined;
  return { file, held: heldBy(part)?.events ?? 0, heldBefore: content.original.held.events };
}

/** For a finished part, which is no longer compared with the service. */
export function settled(part: Part): Part {
  const content = contentOf(part);
  const now: Content =
    content.state === 'planned' ? { ...content, isRepair: true } : { ...content, state: 'settled' };
  return part.content.state === 'lost'
    ? { ...part, content: { ...part.content, now } }
    : { ...part, content: now };
}

export function eventsIn(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + (heldBy(part)?.events ?? 0), 0);
}

export function filesOf(part: Part): readonly PartitionFile[] {
  const held = heldBy(part);
  return held ? filesHolding(part.file, held) : [];
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

/** A part in the manifest, which represents states by null and missing members. */
export interface SavedPart extends Omit<Part, 'content'> {
  readonly events: number | null;
  readonly counted: number | null;
  readonly ofAnyStatus: number | null;
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly strays?: readonly PartitionFile[] | undefined;
  readonly settled?: boolean | undefined;
  readonly lost?: Held | undefined;
}

export function savedPart(part: Part): SavedPart {
  const { file, query, after, before, content } = part;
  const now = contentOf(part);
  const lost = content.state === 'lost' ? { lost: content.original.held } : {};
  const mark = isSettled(part) ? { settled: true } : {};
  const slice = { file, query, after, before };
  if (now.state === 'planned') {
    const { counted, ofAnyStatus } = content.state === 'lost' ? content.original : UNREAD;
    return {
      ...slice,
      events: now.expected,
      counted,
      ofAnyStatus,
      bytes: null,
      sha256: null,
      ...mark,
      ...lost,
    };
  }
  const { held, counted, ofAnyStatus } = now;
  const { events, bytes, sha256, strays } = held;
  return { ...slice, events, counted, ofAnyStatus, bytes, sha256, strays, ...mark, ...lost };
}

const UNREAD = { counted: null, ofAnyStatus: null };

/** Requires a sound part. */
export function restoredPart(saved: SavedPart): Part {
  const { file, query, after, before, counted, ofAnyStatus, lost } = saved;
  const now = restoredContent(saved);
  const content: Part['content'] = lost
    ? { state: 'lost', original: { held: lost, counted, ofAnyStatus }, now }
    : now;
  return { file, query, after, before, content };
}

function restoredContent(saved: SavedPart): Content {
  const { events, counted, ofAnyStatus, bytes, sha256, strays, settled: isSettled = false } = saved;
  if (!sha256) return { state: 'planned', expected: events, isRepair: isSettled };
  const held = { events: events ?? 0, bytes: bytes ?? 0, sha256, ...(strays ? { strays } : {}) };
  return { state: isSettled ? 'settled' : 'written', held, counted, ofAnyStatus };
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
  const names = file.split('/');
  if (partition === undefined) return names.length === 1 && isPartName(file);
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
