import { createHash } from 'node:crypto';
import { readFile, rm, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { makeFolder } from '../files/folders.ts';
import { configFolder } from '../files/places.ts';
import { replaceFile } from '../files/replace-file.ts';
import { openVault } from '../secrets/open-vault.ts';
import { forgetEverything, forgetProfile } from '../secrets/stored-sign-ins.ts';
import type { Vault } from '../secrets/vault.ts';
import { resolveSettings, type SettingFlags } from '../settings/settings.ts';
import { BOUND, type BoundSettings, bindingOf } from './bound-settings.ts';

/** The request that `login --start` leaves for `login --complete`. */
export interface PendingSignIn {
  readonly settings: BoundSettings;
  readonly state: string;
  readonly codeVerifier: string;
  readonly clientSecret: string;
}

export interface ReadPending extends PendingSignIn {
  /** Forgets the request, so that it is completed only once. A wrong answer before that changes nothing. */
  consume(): Promise<void>;
}

/** Ten minutes: a sign-in takes less, and a code should not live longer (RFC 6749 section 4.1.2). */
const LIFETIME = 600_000;

interface SavedPending {
  readonly version: 1;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Shows whether the stored secrets belong to this start. */
  readonly stateHash: string;
  /** Every setting as text, so that `login --complete` needs neither the flags nor the variables of `login --start`. */
  readonly settings: SettingFlags;
}

/** Saves the request: its secrets in the vault, the rest in a file of the profile. A later start replaces it. */
export async function savePending(
  texts: SettingFlags,
  { settings, state, codeVerifier, clientSecret }: PendingSignIn,
  context: Context,
): Promise<void> {
  const vault = await pendingVault(settings, context);
  await vault.write({ clientSecret: JSON.stringify({ state, codeVerifier, clientSecret }) });
  const saved: SavedPending = {
    version: 1,
    expiresAt: context.clock.now() + LIFETIME,
    stateHash: hashOf(state),
    settings: texts,
  };
  const file = pendingFile(settings.profile, context);
  makeFolder(path.dirname(file));
  await replaceFile(file, `${JSON.stringify(saved, null, 2)}\n`);
}

/**
 * Reads the request of the profile's latest start. Throws `NotSignedInError` if there is none, or if it has expired.
 */
export async function readPending(profile: string, context: Context): Promise<ReadPending> {
  const file = pendingFile(profile, context);
  const saved = await readSaved(file);
  if (!saved) throw noneWaits(profile);
  const settings = resolveSettings({ ...saved.settings, profile }, {}, { version: 1, profiles: {} }, BOUND);
  const vault = await pendingVault(settings, context);
  const consume = async () => {
    // A file can be removed only once: of two processes that complete the same start, one exchanges the code.
    await unlink(file).catch((error) => {
      throw error.code === 'ENOENT' ? noneWaits(profile) : error;
    });
    await vault.delete();
  };
  const sealed = (await vault.read())?.clientSecret;
  const secret = sealed === undefined ? undefined : JSON.parse(sealed);
  if (saved.expiresAt <= context.clock.now() || !secret || hashOf(secret.state) !== saved.stateHash) {
    await consume();
    throw new NotSignedInError('the sign-in that was started is too old', {
      next: 'run `hooktrail login --start` again and complete it within 10 minutes',
    });
  }
  const { state, codeVerifier, clientSecret } = secret;
  return { settings, state, codeVerifier, clientSecret, consume };
}

function noneWaits(profile: string): NotSignedInError {
  return new NotSignedInError(`no sign-in of the profile '${profile}' is waiting to be completed`, {
    next: 'run `hooktrail login --start` first; each start can be completed only once',
  });
}

const hashOf = (state: string) => createHash('sha256').update(state).digest('base64url');

/** Forgets the started sign-ins of one profile or of all, with their secrets. Returns their number. */
export async function forgetPending(profile: string | undefined, context: Context): Promise<number> {
  const place = profile === undefined ? pendingFolder(context) : pendingFile(profile, context);
  await rm(place, { recursive: true, force: true });
  return profile === undefined
    ? await forgetEverything(context)
    : await forgetProfile(pendingProfile(profile), context);
}

/** A separate store: starting a new sign-in must not touch the one in use. */
function pendingVault(settings: BoundSettings, context: Context): Promise<Vault> {
  const binding = { ...bindingOf(settings), profile: pendingProfile(settings.profile) };
  return openVault(settings.store, binding, context);
}

/** No user's profile can have this name. */
const pendingProfile = (profile: string) => `${profile}+pending`;

async function readSaved(file: string): Promise<SavedPending | undefined> {
  try {
    const saved = JSON.parse(await readFile(file, 'utf8')) as SavedPending;
    return saved.version === 1 ? saved : undefined;
  } catch {
    // The file is missing or was cut short. Either way, the user has to start again.
    return undefined;
  }
}

const pendingFolder = (context: Context) => path.join(configFolder(context), 'pending');

function pendingFile(profile: string, context: Context): string {
  return path.join(pendingFolder(context), `${profile}.json`);
}
