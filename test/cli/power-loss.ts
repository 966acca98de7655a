import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Random } from '../../src/sandbox/random.ts';
import { startStraced } from '../support/machine/strace-faults.ts';
import type { Result } from '../support/process.ts';

/*
 * Losses of power, replayed: the system calls of a run, or of several, are recorded with their data, and a
 * model of the disk says what a folder may hold if the power is lost behind any of them. Data is on the disk
 * when its file was synced, names are when their folder was. Of what was not synced, each write may be there,
 * wholly, in part or not at all, and of the changes to the names of each folder those up to some moment.
 */

/**
 * One system call on the folder, without those that failed, or the answer 200 to the delivery of an event.
 */
type Step =
  | { readonly call: 'acknowledge'; readonly eventId: string }
  | { readonly call: 'open'; readonly fd: number; readonly file: string; readonly flags: string }
  /** `isCut`: the process was killed in it, so that nobody knows what the disk has of it. */
  | {
      readonly call: 'write';
      readonly fd: number;
      /** What the descriptor stands for. */
      readonly file: string;
      readonly bytes: Buffer;
      readonly at?: number | undefined;
      readonly isCut: boolean;
    }
  | { readonly call: 'truncate'; readonly fd: number; readonly size: number }
  | { readonly call: 'sync'; readonly fd: number; readonly file: string }
  | { readonly call: 'rename' | 'link'; readonly file: string; readonly to: string }
  | { readonly call: 'unlink' | 'mkdir' | 'rmdir'; readonly file: string };

/** Content of the files by their path; null is a folder. */
type Image = ReadonlyMap<string, Buffer | null>;

export interface Recorded {
  /** The number of moments at which power can be lost: before the first step, and behind each of them. */
  readonly moments: number;
  /** The events whose deliveries were acknowledged in that many steps. */
  acknowledged(steps: number): string[];
  /** The text that was appended to a file in that many steps, wherever it is kept. */
  appended(steps: number, file: string): string;
  /** Makes the folder what it may be after a loss of power behind that many steps. */
  lose(steps: number, random: Random): Promise<void>;
}

export type RecordedRun = Recorded & { readonly result: Result };

const CALLS =
  'openat,read,write,writev,pwrite64,ftruncate,fsync,fdatasync,rename,unlink,mkdir,rmdir,link,copy_file_range';

/**
 * Records what the programs that it starts, one after another, do to a folder, whose content is on the disk
 * before.
 */
export async function startRecording(folder: string) {
  const before = await imageOf(folder);
  const logs: (() => Promise<string>)[] = [];
  return {
    /** `redirect`: a file that standard output is appended to. */
    start: (
      env: Readonly<Record<string, string | undefined>>,
      args: readonly string[],
      redirect?: string,
    ) => {
      const options = ['-s', '4000000', '-xx', '-e', `trace=${CALLS}`];
      const { program, log } = startStraced({ ...env, STRACE_STDOUT: redirect }, args, ...options);
      logs.push(log);
      return program;
    },
    /** Resolves to the steps of all programs when they have ended. */
    recorded: async (): Promise<Recorded> => {
      const texts = await Promise.all(logs.map((log) => log()));
      const steps = texts.flatMap((text) => stepsIn(text, folder));
      return {
        moments: steps.length + 1,
        acknowledged: (count) =>
          steps.slice(0, count).flatMap((step) => (step.call === 'acknowledge' ? [step.eventId] : [])),
        appended: (count, file) =>
          steps
            .slice(0, count)
            .map((step) => (step.call === 'write' && step.file === file ? step.bytes.toString() : ''))
            .join(''),
        lose: async (count, random) => await restore(folder, imageAfter(before, steps, count, random)),
      };
    },
  };
}

/** Runs the program and records what it does to a folder. */
export async function recordRun(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  folder: string,
  redirect?: string,
): Promise<RecordedRun> {
  const recording = await startRecording(folder);
  const result = await recording.start(env, args, redirect).finished;
  return { result, ...(await recording.recorded()) };
}

async function imageOf(folder: string): Promise<Image> {
  const image = new Map<string, Buffer | null>([[folder, null]]);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const place = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory()) image.set(place, null);
    else if (entry.isFile()) image.set(place, await readFile(place));
  }
  return image;
}

async function restore(folder: string, image: Image): Promise<void> {
  for (const name of await readdir(folder)) await rm(path.join(folder, name), { recursive: true });
  for (const [place, content] of [...image].sort(([one], [other]) => (one < other ? -1 : 1))) {
    // Without its folder a file cannot be found.
    if (image.get(path.dirname(place)) === undefined && place !== folder) continue;
    if (content === null) await mkdir(place, { recursive: true, mode: 0o700 });
    else await writeFile(place, content, { mode: 0o600 });
  }
}

const unescaped = (text: string) => Buffer.from(text.replaceAll('\\x', ''), 'hex');

function stepsIn(log: string, folder: string): Step[] {
  const steps: Step[] = [];
  const unfinished = new Map<string, string>();
  /** The event whose delivery came last over each connection. */
  const delivered = new Map<number, string>();
  const isOurs = (file: string) => file === folder || file.startsWith(folder + path.sep);
  for (const line of log.split('\n')) {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (text.endsWith('<unfinished ...>')) {
      unfinished.set(thread, text.slice(0, -'<unfinished ...>'.length));
      continue;
    }
    const begun = unfinished.get(thread) ?? '';
    unfinished.delete(thread);
    // A killed thread ends in the call that it had begun.
    const whole = text.startsWith('+++')
      ? `${begun}) = ?`
      : text.replace(/^<\.\.\. \w+ resumed>/, () => begun);
    const [, call = '', rest = '', answer = ''] = /^(\w+)\((.*)\) += (\d+|\?)/.exec(whole) ?? [];
    const strings = [...rest.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = '']) => unescaped(hex));
    const [, number = '', open = ''] = /^(\d+)<([^>]*)>/.exec(rest) ?? [];
    const descriptor = open.startsWith('\\x') ? unescaped(open).toString() : open;
    const file = String(strings.at(0) ?? '');
    const fd = Number(number);
    const isCut = answer === '?';
    if (isCut && call !== 'write' && call !== 'pwrite64') continue;
    if (/^(socket|TCP)/.test(descriptor)) {
      const [, eventId] = /"eventId":"([^"]+)"/.exec(file) ?? [];
      if (call === 'read' && eventId) delivered.set(fd, eventId);
      else if (call !== 'read' && !isCut && file.startsWith('HTTP/1.1 200'))
        steps.push({ call: 'acknowledge', eventId: delivered.get(fd) as string });
    } else if (call === 'read') continue;
    else if (call === 'openat' && isOurs(file)) {
      const [, flags = ''] = /, (O_[A-Z_|]+)/.exec(rest) ?? [];
      steps.push({ call: 'open', fd: Number(answer), file, flags });
    } else if (number !== '' && !isOurs(descriptor)) continue;
    else if (call === 'write' || call === 'pwrite64') {
      // A call that was cut ends in a space.
      const at = call === 'write' ? undefined : Number(/(\d+) *$/.exec(rest)?.[1]);
      const bytes = isCut ? (strings[0] as Buffer) : (strings[0] as Buffer).subarray(0, Number(answer));
      steps.push({ call: 'write', fd, file: descriptor, bytes, at, isCut });
    } else if (call === 'ftruncate') {
      steps.push({ call: 'truncate', fd, size: Number(/(\d+)$/.exec(rest)?.[1]) });
    } else if (call === 'fsync' || call === 'fdatasync') steps.push({ call: 'sync', fd, file: descriptor });
    else if ((call === 'rename' || call === 'link') && isOurs(file))
      steps.push({ call, file, to: String(strings[1]) });
    else if ((call === 'unlink' || call === 'mkdir' || call === 'rmdir') && isOurs(file)) {
      steps.push({ call, file });
    } else if (call !== '' && isOurs(number === '' ? file : descriptor))
      throw new Error(`the model has no ${call}: ${line.slice(0, 200)}`);
  }
  return steps;
}

/** A file's data; null for a folder. */
interface Node {
  disk: Buffer | null;
  pending: ((content: Buffer, random?: Random) => Buffer)[];
}

type Names = Map<string, Node>;

function imageAfter(before: Image, all: readonly Step[], count: number, random: Random): Image {
  const durable: Names = new Map([...before].map(([place, disk]) => [place, { disk, pending: [] }]));
  const names: Names = new Map(durable);
  const changes = new Map<string, ((names: Names) => void)[]>();
  const open = new Map<
    number,
    { readonly node: Node; readonly file: string; at: number; isAppending: boolean; isSynced: boolean }
  >();
  const change = (file: string, apply: (names: Names) => void) => {
    const parent = path.dirname(file);
    apply(names);
    changes.set(parent, [...(changes.get(parent) ?? []), apply]);
  };
  const contentOf = ({ disk, pending }: Node) =>
    pending.reduce((content, apply) => apply(content), disk ?? Buffer.alloc(0));
  // A write may have begun.
  const begun = all.slice(count, count + 1).filter(({ call }) => call === 'write');
  for (const [index, step] of [...all.slice(0, count), ...begun].entries()) {
    // Standard output is opened for appending before the program starts.
    if ((step.call === 'write' || step.call === 'sync') && names.has(step.file)) {
      const node = names.get(step.file) as Node;
      const isAnother = open.get(step.fd)?.file !== step.file;
      if (isAnother) open.set(step.fd, { node, file: step.file, at: 0, isAppending: true, isSynced: false });
    }
    const opened = 'fd' in step ? open.get(step.fd) : undefined;
    switch (step.call) {
      case 'acknowledge':
        break;
      case 'open': {
        let node = names.get(step.file);
        if (!node) {
          const made: Node = { disk: Buffer.alloc(0), pending: [] };
          node = made;
          if (step.flags.includes('O_CREAT')) change(step.file, (all) => all.set(step.file, made));
        } else if (step.flags.includes('O_TRUNC')) node.pending.push(() => Buffer.alloc(0));
        const [isAppending, isSynced] = ['O_APPEND', 'O_DSYNC'].map((flag) => step.flags.includes(flag));
        open.set(step.fd, { node, file: step.file, at: 0, isAppending: !!isAppending, isSynced: !!isSynced });
        break;
      }
      case 'write': {
        if (!opened) throw new Error(`a write to the unknown descriptor ${step.fd}`);
        const size = opened.isAppending ? contentOf(opened.node).length : opened.at;
        const at = step.at ?? size;
        if (step.at === undefined) opened.at = at + step.bytes.length;
        const write = (content: Buffer, dice?: Random) => {
          const stored = dice ? step.bytes.subarray(0, dice.below(step.bytes.length + 1)) : step.bytes;
          const grown = Buffer.alloc(Math.max(content.length, at + stored.length));
          content.copy(grown);
          stored.copy(grown, at);
          return grown;
        };
        if (opened.isSynced && index < count && !step.isCut)
          opened.node.disk = write(opened.node.disk ?? Buffer.alloc(0));
        else opened.node.pending.push(write);
        break;
      }
      case 'truncate':
        opened?.node.pending.push((content) =>
          Buffer.concat([content, Buffer.alloc(step.size)]).subarray(0, step.size),
        );
        break;
      case 'sync':
        if (!opened) throw new Error(`a sync of the unknown descriptor ${step.fd}`);
        if (opened.node.disk === null) {
          for (const apply of changes.get(opened.file) ?? []) apply(durable);
          changes.delete(opened.file);
        } else {
          opened.node.disk = contentOf(opened.node);
          opened.node.pending = [];
        }
        break;
      case 'rename': {
        const moved = names.get(step.file) as Node;
        change(step.file, (all) => {
          all.delete(step.file);
          all.set(step.to, moved);
        });
        break;
      }
      case 'link': {
        const linked = names.get(step.file) as Node;
        change(step.to, (all) => all.set(step.to, linked));
        break;
      }
      case 'mkdir':
        change(step.file, (all) => all.set(step.file, { disk: null, pending: [] }));
        break;
      default:
        change(step.file, (all) => all.delete(step.file));
    }
  }
  for (const applied of changes.values())
    for (const apply of applied.slice(0, random.below(applied.length + 1))) apply(durable);
  const stored = ({ disk, pending }: Node) =>
    disk &&
    pending.reduce<Buffer>(
      (content, apply) => (random.float() < 0.5 ? apply(content, random) : content),
      disk,
    );
  return new Map([...durable].map(([place, node]) => [place, stored(node)]));
}
