import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import type { Machine } from '../context.ts';
import { makeFolder, replaceableBy } from '../files/folders.ts';
import type { HandlerAnswer } from './forward.ts';
import { identityOf, type Journal, type Outcome } from './journal.ts';
import type { Acceptance } from './receiver.ts';

/*
 * A listener that has a journal open is reached by the user's other processes at a local socket: a Unix socket in a folder
 * that only this user can enter, or a named pipe on Windows. A connection carries one line with a question and one with
 * the reply, both JSON. Its name comes from the journal's path, since a socket's own path ends at about 104 bytes and not
 * every folder with a journal can hold a socket.
 */

export interface ListenerQuestion {
  /** An event to accept, in base64; without it the question is who has the journal. */
  readonly event?: string;
  /** The handler that the event is for: another listener may have taken the journal since the last question. */
  readonly forwardTo?: string;
}

/** The journal's device and inode go with it: in another container the same path may be another file. */
type Question = ListenerQuestion & { readonly journal: string };

/** How a listener describes itself. */
export interface ListenerSelf {
  /** The handler's URL; null if the listener only prints lines. */
  readonly forwardTo: string | null;
  /** Milliseconds that the handler has for an answer. */
  readonly forwardTimeout: number;
}

export interface ListenerReply extends ListenerSelf {
  readonly outcome?: Outcome;
  /** The handler's answer, if it refused the event. */
  readonly answer?: HandlerAnswer | undefined;
}

/** The listener's side. */
export interface ListenerSocket {
  /** Answers no more questions, and resolves when those that were asked are answered. */
  close(): Promise<void>;
}

/** Answers questions about a journal that this process has open. Throws if no socket can be made. */
export async function openListenerSocket(
  { path: file, identity }: Pick<Journal, 'path' | 'identity'>,
  machine: Machine,
  self: ListenerSelf,
  accept: (event: Buffer) => Promise<Acceptance>,
): Promise<ListenerSocket> {
  const sockets = new Set<Socket>();
  const underWay = new Set<Promise<void>>();
  const reply = async (socket: Socket, event: string | undefined) => {
    if (event === undefined) return await writeLine(socket, self);
    const { outcome, answer, error } = await accept(Buffer.from(event, 'base64'));
    await writeLine(socket, { ...self, outcome, answer: error ? undefined : answer });
  };
  const answer = async (socket: Socket) => {
    const { journal, event, forwardTo } = JSON.parse(await readLine(socket)) as Question;
    if (journal !== identity) throw new Error('another journal');
    if (event !== undefined && forwardTo !== self.forwardTo) throw new Error('another handler');
    const replied = reply(socket, event);
    underWay.add(replied);
    await replied.finally(() => underWay.delete(replied));
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    answer(socket).catch(() => socket.destroy());
  });
  await listenAtFirst(server, machine, file);
  return {
    async close() {
      // This also removes the socket's file.
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.allSettled(underWay);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/**
 * Asks the listener that has a journal. Returns undefined if there is no answer in `milliseconds` or before the signal
 * aborts: no listener that this process can reach, or one that ended meanwhile.
 */
export async function askListener(
  journal: string,
  machine: Machine,
  question: ListenerQuestion,
  { milliseconds, signal }: { readonly milliseconds: number; readonly signal: AbortSignal },
): Promise<ListenerReply | undefined> {
  const found = fs.statSync(journal, { throwIfNoEntry: false });
  if (!found) return undefined;
  const line = JSON.stringify({ journal: identityOf(found), ...question } satisfies Question);
  for (const place of socketPlaces(journal, machine)) {
    if (signal.aborted || !isPrivate(place.folder, machine)) continue;
    const socket = connect(place.path);
    const leave = () => socket.destroy();
    const timer = setTimeout(leave, milliseconds);
    signal.addEventListener('abort', leave, { once: true });
    try {
      socket.write(`${line}\n`);
      return JSON.parse(await readLine(socket)) as ListenerReply;
    } catch {
      // Nobody is there, or not any more.
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      socket.destroy();
    }
  }
  return undefined;
}

interface SocketPlace {
  readonly folder: string | undefined;
  readonly path: string;
}

/** The longest path of a socket on macOS, in bytes, less its final zero; Linux takes four more. */
const LONGEST_PATH = 103;

/**
 * The places of a journal's socket, the best first: the home is not always writable, and not every file system of homes
 * can hold a socket.
 */
function socketPlaces(journal: string, { platform, userHome, userId, sharedFolder }: Machine): SocketPlace[] {
  const name = createHash('sha256').update(journal).digest('hex').slice(0, 32);
  if (platform === 'win32') return [{ folder: undefined, path: `\\\\.\\pipe\\hooktrail-${name}` }];
  const folders = [
    path.join(userHome, '.hooktrail', 'sockets'),
    path.join(sharedFolder, `hooktrail-sockets-${userId}`),
  ];
  return folders
    .map((folder) => ({ folder, path: path.join(folder, name) }))
    .filter((place) => Buffer.byteLength(place.path) <= LONGEST_PATH);
}

async function listenAtFirst(server: Server, machine: Machine, journal: string): Promise<void> {
  let failure: unknown = new Error(
    'the paths of the home and of the folder for temporary files are too long',
  );
  for (const { folder, path: place } of socketPlaces(journal, machine)) {
    try {
      if (folder !== undefined) {
        makeFolder(folder);
        if (!isPrivate(folder, machine))
          throw new Error(`others can write to ${folder} or a folder above it`);
        // Only who has the journal's lock makes a socket: what is there was left by a listener that was killed.
        fs.rmSync(place, { force: true });
      }
      server.listen(place);
      await once(server, 'listening');
      return;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Returns true if only this user can use the folder, and only this user and root can replace it. */
function isPrivate(folder: string | undefined, machine: Machine): boolean {
  if (folder === undefined) return true;
  const found = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (!found?.isDirectory() || found.uid !== machine.userId || (found.mode & 0o077) !== 0) return false;
  return replaceableBy(folder, machine) === undefined;
}

const NEWLINE = 0x0a;

/** Resolves to the first line that the peer sends; rejects if the connection ends before. */
function readLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => {
      const end = chunk.indexOf(NEWLINE);
      chunks.push(end === -1 ? chunk : chunk.subarray(0, end));
      if (end !== -1) resolve(Buffer.concat(chunks).toString());
    });
    socket.on('error', reject).once('close', () => reject(new Error('the connection was closed')));
  });
}

function writeLine(socket: Socket, reply: ListenerReply): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', resolve).end(`${JSON.stringify(reply)}\n`, resolve);
  });
}
