import { hash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { Socket } from 'node:net';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import type { Machine } from '../context.ts';
import { makeFolder, replaceableBy } from '../files/folders.ts';
import type { HandlerAnswer } from './forward.ts';
import type { Acceptance, Journal, Outcome } from './journal.ts';
import { identityOf } from './journal-file.ts';

/*
 * Other processes of the user reach a listener that holds a journal at a local socket: a Unix socket in a
 * folder that only this user can enter, or a named pipe on Windows. A question is an HTTP POST; question and
 * reply are JSON. The socket is named by a hash of the journal's path: socket paths are limited to about 104
 * bytes, and not every folder with a journal can hold a socket.
 */

export interface ListenerQuestion {
  /** An event to accept, in base64; without it the question is who holds the journal. */
  readonly event?: string;
  /** The intended handler: another listener may have taken the journal since the last question. */
  readonly forwardTo?: string;
}

type Question = ListenerQuestion & { readonly journal: string };

export interface ListenerSelf {
  readonly forwardTo: string | null;
  /** Milliseconds that the handler has to answer. */
  readonly forwardTimeout: number;
}

export interface ListenerReply extends ListenerSelf {
  readonly outcome?: Outcome;
  readonly answer?: HandlerAnswer | undefined;
}

/** Milliseconds within which a question has to arrive. */
const QUESTION_MS = 5_000;

/**
 * Answers questions about a journal that this process holds. Returns a function that stops this after
 * answering the pending ones. Throws if no socket can be created.
 */
export async function openListenerSocket(
  { path: file, identity }: Pick<Journal, 'path' | 'identity'>,
  machine: Machine,
  self: ListenerSelf,
  accept: (event: Buffer) => Promise<Acceptance>,
): Promise<() => Promise<void>> {
  /** Connections without a whole question: a suspended process may never send the rest. */
  const asking = new Set<Socket>();
  const replyTo = async (request: http.IncomingMessage): Promise<ListenerReply> => {
    const { journal, event, forwardTo } = (await json(request)) as Question;
    asking.delete(request.socket);
    if (journal !== identity) throw new Error('another journal');
    if (event === undefined) return self;
    if (forwardTo !== self.forwardTo) throw new Error('another handler');
    const { outcome, answer, error } = await accept(Buffer.from(event, 'base64'));
    return { ...self, outcome, answer: error ? undefined : answer };
  };
  const limits = { requestTimeout: QUESTION_MS, headersTimeout: QUESTION_MS };
  const server = http.createServer({ ...limits, connectionsCheckingInterval: 1_000 }, (request, response) => {
    replyTo(request)
      .then((reply) => response.end(JSON.stringify(reply)))
      .catch(() => response.destroy());
  });
  server.on('connection', (socket) => asking.add(socket.once('close', () => asking.delete(socket))));
  await listenAtBestPlace(server, machine, file);
  return async () => {
    // Closing also removes the socket's file.
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of asking) socket.destroy();
    await closed;
  };
}

export async function askListener(
  journal: string,
  machine: Machine,
  question: ListenerQuestion,
  { milliseconds, signal }: { readonly milliseconds: number; readonly signal: AbortSignal },
): Promise<ListenerReply | undefined> {
  const found = fs.statSync(journal, { throwIfNoEntry: false });
  if (!found) return undefined;
  const whole: Question = { journal: identityOf(found), ...question };
  for (const { folder, path: socketPath } of socketPlaces(journal, machine)) {
    if (signal.aborted || !isPrivate(folder, machine)) continue;
    try {
      const asked = http.request({ socketPath, method: 'POST', agent: false, signal });
      asked.setTimeout(milliseconds, () => asked.destroy(new Error('no reply in time')));
      // An error may also come after the response has begun; then reading the reply throws.
      asked.on('error', () => undefined).end(JSON.stringify(whole));
      const [answer] = await once(asked, 'response');
      return (await json(answer)) as ListenerReply;
    } catch {
      // No listener here, or it has ended.
    }
  }
  return undefined;
}

interface SocketPlace {
  readonly folder: string | undefined;
  readonly path: string;
}

/** Bytes of the longest socket path on macOS, without the final NUL; Linux allows four more. */
const LONGEST_PATH_BYTES = 103;

/**
 * Lists the possible sockets of a journal, best first: the home is not always writable, and not every file
 * system can hold a socket.
 */
function socketPlaces(journal: string, { platform, userHome, userId, sharedFolder }: Machine): SocketPlace[] {
  const name = hash('sha256', journal).slice(0, 32);
  if (platform === 'win32') return [{ folder: undefined, path: `\\\\.\\pipe\\hooktrail-${name}` }];
  const folders = [
    path.join(userHome, '.hooktrail', 'sockets'),
    path.join(sharedFolder, `hooktrail-sockets-${userId}`),
  ];
  return folders
    .map((folder) => ({ folder, path: path.join(folder, name) }))
    .filter((place) => Buffer.byteLength(place.path) <= LONGEST_PATH_BYTES);
}

async function listenAtBestPlace(server: http.Server, machine: Machine, journal: string): Promise<void> {
  let failure: unknown = new Error('the home and the folder for temporary files have too long paths');
  for (const { folder, path: place } of socketPlaces(journal, machine)) {
    try {
      if (folder !== undefined) {
        makeFolder(folder);
        if (!isPrivate(folder, machine))
          throw new Error(`others can write to ${folder} or a folder above it`);
        // Only the holder of the journal's lock creates a socket, so this one was left by a killed listener.
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

/** True if only this user can use the folder, and only this user and root can replace it. */
function isPrivate(folder: string | undefined, machine: Machine): boolean {
  if (folder === undefined) return true;
  const found = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (!found?.isDirectory() || found.uid !== machine.userId || (found.mode & 0o077) !== 0) return false;
  return replaceableBy(folder, machine) === undefined;
}
