import path from 'node:path';
import { isObject } from '../items/items.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import { isPartitionFolder } from './partitions.ts';

/** A file of a part, as it was written. */
export interface PartitionFile {
  /** Its path below the export's directory, with `/` between names. */
  readonly file: string;
  readonly events: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** A slice of time of one query, and the state of the file that is to hold its events. */
export interface Part {
  /** Its path below the export's directory; with partitions it lies in the folder of the slice's day. */
  readonly file: string;
  /** Index of its query. */
  readonly query: number;
  /** `gt(createdOn,…)` and `lt(createdOn,…)` of the slice; slices of one query overlap by a second. */
  readonly after: Instant | null;
  readonly before: Instant;
  readonly content: Content | Lost;
}

/** The state of a part that was never damaged, or of one that is read again. */
export type Content = Planned | Written | Settled;

/** A part that is still to be read. */
export interface Planned {
  readonly state: 'planned';
  /** The number of its events by the service's count; null if the service gives none. */
  readonly expected: number | null;
  /** True if it is settled once it was read: it repairs an export that was finished before. */
  readonly isRepair: boolean;
}

/** The outcome of reading a part. */
export interface PartRead {
  readonly held: Held;
  /**
   * The events that were read between `after` and `before`, with those that filters of this program left out.
   * Null if the service gives no count to compare them with.
   */
  readonly counted: number | null;
  /** The service's count without the query's status, if it has one, made before the part was read. */
  readonly ofAnyStatus: number | null;
}

/** A part that was read. It is compared with the service until the export is finished. */
export interface Written extends PartRead {
  readonly state: 'written';
}

/**
 * A part that was finished before an update or a repair. It is not compared with the service any more, which
 * may have deleted its events.
 */
export interface Settled extends PartRead {
  readonly state: 'settled';
}

/** A part that was damaged, while the service has not returned as many events as it held before. */
export interface Lost {
  readonly state: 'lost';
  /** As it was before it was damaged. */
  readonly original: PartRead;
  readonly now: Content;
}

/** The content of the files of a part. */
export interface Held {
  readonly events: number;
  /** Of the part's own file. */
  readonly bytes: number;
  /** SHA-256 of it. With partitions there is no such file if it would hold no event. */
  readonly sha256: string;
  /**
   * With partitions: files of the same name in other folders, of events that have another day than the slice
   * or none.
   */
  readonly strays?: readonly PartitionFile[] | undefined;
}

/** The state of a part, whether it was damaged before or not. */
export function contentOf({ content }: Part): Content {
  return content.state === 'lost' ? content.now : content;
}

/** The content of a part's files; undefined if the part is still to be read. */
export function heldBy(part: Part): Held | undefined {
  const content = contentOf(part);
  return content.state === 'planned' ? undefined : content.held;
}

/** True if a part is not compared with the service any more. */
export function isSettled(part: Part): boolean {
  const content = contentOf(part);
  return content.state === 'settled' || (content.state === 'planned' && content.isRepair);
}

/** True for a part that was read, and whose number of events the service did not tell. */
export function isUncounted(part: Part): boolean {
  const content = contentOf(part);
  return content.state !== 'planned' && content.counted === null;
}

/** The same part in another state. What was lost of it stays lost until it holds as many events again. */
export function withContent(part: Part, now: Content): Part {
  const { content } = part;
  if (content.state !== 'lost') return { ...part, content: now };
  const isWhole = now.state !== 'planned' && now.held.events >= content.original.held.events;
  return { ...part, content: isWhole ? now : { ...content, now } };
}

/** The part as one that has to be read again, since its events have changed. */
export function toBeReadAgain(part: Part): Part {
  const held = heldBy(part);
  if (!held) return part;
  return withContent(part, { state: 'planned', expected: held.events, isRepair: isSettled(part) });
}

/**
 * The part as one to be read again, since its files were damaged. Damaged twice, it remembers the first time.
 */
export function damagedPart(part: Part): Part {
  const { content } = toBeReadAgain(part);
  if (content.state === 'lost') return { ...part, content };
  const before = contentOf(part);
  if (before.state === 'planned' || content.state !== 'planned') return part;
  const { held, counted, ofAnyStatus } = before;
  return { ...part, content: { state: 'lost', original: { held, counted, ofAnyStatus }, now: content } };
}

/** The part with a new file, from which events were removed that another part holds. */
export function trimmedPart(part: Part, file: string, held: Held): Part {
  const content = contentOf(part);
  if (content.state === 'planned') return part;
  const now: Content = { ...content, held };
  if (part.content.state !== 'lost') return { ...part, file, content: now };
  const { original } = part.content;
  const removed = content.held.events - held.events;
  // A copy that the user has of the whole part is no replacement for what is left of it.
  const left = { ...original.held, events: original.held.events - removed, sha256: '' };
  return { ...part, file, content: { state: 'lost', original: { ...original, held: left }, now } };
}

/** The events that a part has and had before it was damaged; undefined if nothing was lost. */
export function lossOf(part: Part): { file: string; held: number; heldBefore: number } | undefined {
  const { file, content } = part;
  if (content.state !== 'lost') return undefined;
  return { file, held: heldBy(part)?.events ?? 0, heldBefore: content.original.held.events };
}

/** The part after an export was finished: it is not compared with the service any more. */
export function settled(part: Part): Part {
  const content = contentOf(part);
  const now: Content =
    content.state === 'planned' ? { ...content, isRepair: true } : { ...content, state: 'settled' };
  return part.content.state === 'lost'
    ? { ...part, content: { ...part.content, now } }
    : { ...part, content: now };
}

/** The events in the parts that were read. */
export function eventsIn(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + (heldBy(part)?.events ?? 0), 0);
}

/** The files of a part, in the order in which their events are read; none if it is still to be read. */
export function filesOf(part: Part): readonly PartitionFile[] {
  const held = heldBy(part);
  return held ? filesHolding(part.file, held) : [];
}

/** The files of what a part holds or held, whose own file has this path. */
export function filesHolding(
  file: string,
  { events, bytes, sha256, strays = [] }: Held,
): readonly PartitionFile[] {
  const inStrays = strays.reduce((sum, stray) => sum + stray.events, 0);
  const own = { file, events: events - inStrays, bytes, sha256 };
  // A folder that would only hold a file without events is not made.
  const isAbsent = own.bytes === 0 && own.events === 0 && folderOf(file) !== '';
  return isAbsent ? strays : [own, ...strays];
}

/** The folder that a part's file lies in; an empty text for the export's own. */
export function folderOf(file: string): string {
  return file.includes('/') ? path.posix.dirname(file) : '';
}

/** True if two parts are of one query, and their times overlap. */
export function overlap(one: Part, other: Part): boolean {
  const reachesInto = ({ after }: Part, { before }: Part) =>
    after === null || compareInstants(after, before) < 0;
  return one.query === other.query && reachesInto(one, other) && reachesInto(other, one);
}

/** The format of the files of an export, and whether they lie in folders. */
export interface PartForm {
  readonly gzip: boolean;
  /** Set if the parts lie in a folder for each day in UTC. */
  readonly partition?: Partition | undefined;
  /** The format of the parts, if it is not NDJSON. */
  readonly fileFormat?: FileFormat | undefined;
}

export type Partition = 'day';
export type FileFormat = 'parquet';

const PART_NAME = /^part-\d{6,}\.(?:ndjson(?:\.gz)?|parquet)$/;

/** True for the name of a part, without its folder. */
export function isPartName(name: string): boolean {
  return PART_NAME.test(name);
}

/** Returns a function that names one part after another, in a folder or in the export's own. */
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

/** A part in the manifest: states are told apart by what is null or absent there. */
export interface SavedPart extends Omit<Part, 'content'> {
  /** Events in its files or, before they are written, the number expected. */
  readonly events: number | null;
  readonly counted: number | null;
  readonly ofAnyStatus: number | null;
  readonly bytes: number | null;
  /** Null until the part was read. */
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

/** The part that was saved so; it has to be sound. */
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

/** False if a member is not what it should be, so that a damaged manifest is not misread. */
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

/** A name that led out of the directory would let a manifest have other files overwritten. */
function isFileName(file: unknown, { partition, fileFormat }: NameForm): boolean {
  if (!isText(file)) return false;
  if (file.endsWith('.parquet') !== (fileFormat === 'parquet')) return false;
  const names = file.split('/');
  if (partition === undefined) return names.length === 1 && isPartName(file);
  const [folder = '', name = ''] = names;
  return names.length === 2 && isPartitionFolder(folder) && isPartName(name);
}

/** What the names of an export's files depend on. */
type NameForm = Pick<PartForm, 'partition' | 'fileFormat'>;

/** True for files that can be strays of a part, which holds all of their events. */
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
