import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import fs from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import type { Machine } from '../context.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { Handler, HandlerAnswer, OutgoingEvent } from './forward.ts';
import type { Outcome } from './journal.ts';

/**
 * Lets `recover` find the listener that has a journal, and lets the two authenticate each other. A file beside the
 * journal, which only its user can read, holds the address and a secret. Each request of `recover` proves that it knows
 * the secret, and each answer proves that it comes from that listener and not from a program that took the port later.
 */
export interface ListenerAddress {
  readonly url: string;
  /** The handler's URL; null if the listener only prints lines. */
  readonly forwardTo: string | null;
  readonly secret: string;
}

/** The outcome of an event that was forwarded to the listener; `ready` answers a request without an event. */
export interface ListenerAnswer {
  readonly outcome: Outcome | 'ready';
  /** The handler's answer if it refused. */
  readonly answer?: HandlerAnswer | undefined;
}

const QUESTION = 'hooktrail-recovery';
const ANSWER = 'hooktrail-answer';
const fileOf = (journal: string) => `${journal}.listener`;

/** Writes the address to the file. Returns the secret, and a function that removes the file. */
export async function announceListener(
  journal: string,
  address: Omit<ListenerAddress, 'secret'>,
): Promise<{ readonly secret: string; withdraw(): Promise<void> }> {
  const secret = randomBytes(32).toString('base64url');
  await replaceFile(fileOf(journal), `${JSON.stringify({ ...address, secret })}\n`);
  return { secret, withdraw: () => rm(fileOf(journal), { force: true }) };
}

/**
 * Returns the address of the latest listener, which may have ended; undefined if there is none, or it cannot be
 * trusted.
 */
export function findListener(
  journal: string,
  { platform, userId }: Pick<Machine, 'platform' | 'userId'>,
): ListenerAddress | undefined {
  let fd: number;
  try {
    fd = fs.openSync(fileOf(journal), fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0));
  } catch {
    return undefined;
  }
  try {
    const { uid, mode } = fs.fstatSync(fd);
    // In a folder like /tmp anyone could write such a file to receive the events.
    if (platform !== 'win32' && (uid !== userId || (mode & 0o077) !== 0)) return undefined;
    const found = JSON.parse(fs.readFileSync(fd, 'utf8')) as Partial<ListenerAddress>;
    const { url, forwardTo = null, secret } = found;
    return typeof url === 'string' && URL.canParse(url) && typeof secret === 'string'
      ? { url, forwardTo, secret }
      : undefined;
  } catch {
    return undefined;
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Asks `recover`, which may keep the journal for a long time, to give it up to a waiting listener. Returns a function
 * that withdraws the request.
 */
export async function wantJournal(journal: string): Promise<() => Promise<void>> {
  const file = `${journal}.wanted`;
  // `wx` never follows a link that another user put there. If the file exists, the request has been made already.
  await writeFile(file, '', { mode: 0o600, flag: 'wx' }).catch(() => undefined);
  return () => rm(file, { force: true });
}

/** Returns whether a listener is waiting for the journal. */
export function isJournalWanted(journal: string): boolean {
  return fs.existsSync(`${journal}.wanted`);
}

/** The listener's side: recognizes requests of `recover`, and signs the answers. */
export function recoveryDoor(secret: string) {
  return {
    /** Returns the nonce of a request with a valid proof; undefined for any other. */
    admitted(headers: Readonly<Record<string, unknown>>): string | undefined {
      const question = headers[QUESTION];
      if (typeof question !== 'string') return undefined;
      const [nonce = '', proof = ''] = question.split('.');
      return isEqual(proof, proofOf(secret, `question ${nonce}`)) ? nonce : undefined;
    },
    seal(nonce: string, answer: ListenerAnswer): Record<string, string> {
      const text = Buffer.from(JSON.stringify(answer)).toString('base64url');
      return { [ANSWER]: `${text}.${proofOf(secret, `answer ${nonce} ${text}`)}` };
    },
  };
}
export type RecoveryDoor = ReturnType<typeof recoveryDoor>;

/** The side of `recover`: forwards an event to the listener; undefined if no answer came from that listener. */
export async function forwardToListener(
  client: Handler,
  { secret }: ListenerAddress,
  event: OutgoingEvent,
): Promise<ListenerAnswer | undefined> {
  const nonce = randomBytes(16).toString('base64url');
  const headers = { [QUESTION]: `${nonce}.${proofOf(secret, `question ${nonce}`)}` };
  const answer = await client.forward({ ...event, headers });
  const [text = '', proof = ''] = String(answer.headers?.[ANSWER] ?? '').split('.');
  if (!isEqual(proof, proofOf(secret, `answer ${nonce} ${text}`))) return undefined;
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as ListenerAnswer;
}

function proofOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

function isEqual(given: string, right: string): boolean {
  return given.length === right.length && timingSafeEqual(Buffer.from(given), Buffer.from(right));
}
