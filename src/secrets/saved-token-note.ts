import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Context } from '../context.ts';
import { configFolder, makeFolder } from '../files/folders.ts';
import { readRegularFile, replaceFile } from '../files/whole-files.ts';

type Place = Pick<Context, 'environment' | 'machine'>;

/** Milliseconds between two looks at the note. */
const WATCH_MS = 500;

/**
 * The note that saving an `Api-Token` leaves, so that a listener notices without asking the store, which
 * could ask a person. `owner` is the profile, or the profile and a subscription. It says nothing of the
 * token.
 */
export function savedNoteOf(owner: string, context: Place): string {
  return path.join(configFolder(context), 'webhooks', `${owner}.token-saved`);
}

/** Leaves the note. Without it a running listener keeps the token that it has, which is no error. */
export async function noteSaved(owner: string, context: Place): Promise<void> {
  const file = savedNoteOf(owner, context);
  try {
    makeFolder(path.dirname(file));
    await replaceFile(file, randomBytes(8).toString('hex'));
  } catch {
    // A restart of the listener finds the token.
  }
}

/** Calls `onSaved` whenever a token has been saved for the owner, until the returned function is called. */
export function watchSaved(owner: string, context: Place, onSaved: () => void): () => void {
  const file = savedNoteOf(owner, context);
  let last = noteIn(file);
  const timer = setInterval(() => {
    const note = noteIn(file);
    if (note === last) return;
    last = note;
    onSaved();
  }, WATCH_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function noteIn(file: string): string {
  try {
    return readRegularFile(file).toString();
  } catch {
    return '';
  }
}
