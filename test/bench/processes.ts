import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { browserCommand } from '../support/browser.ts';
import { createHome } from '../support/home.ts';
import { hasKeyring, startBus } from '../support/machine/keyring.ts';
import type { SandboxSettings } from '../support/sandbox.ts';
import { sandboxEnv } from '../support/sandbox.ts';
import { accessTokenOf } from '../support/sandbox-client.ts';
import { type Env, measure } from './measure.ts';

/** Each side of a measurement is a process of its own, so that they do not share a processor. */

export const program = path.resolve(import.meta.dirname, '../../bin/hooktrail.js');

export interface Peer extends AsyncDisposable {
  /** The first line that it printed. */
  readonly line: string;
}

/** Starts a program of Node, and waits for its first line. */
async function start(args: readonly string[]): Promise<Peer> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  for await (const line of createInterface(child.stdout)) {
    // Nobody reads the rest, and the pipe must not fill up.
    child.stdout.resume();
    return {
      line,
      async [Symbol.asyncDispose]() {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill('SIGTERM');
        await once(child, 'exit');
      },
    };
  }
  throw new Error(`${args.join(' ')} did not start`);
}

export interface Service extends AsyncDisposable {
  /** The environment that a command needs to search it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Starts `hooktrail sandbox`. */
export async function startSandboxProcess(
  ...flags: string[]
): Promise<Service & { readonly settings: SandboxSettings }> {
  const args = ['sandbox', '--json', '--quiet', '--auto-approve', ...flags];
  const peer = await start([program, ...args]);
  const settings = JSON.parse(peer.line) as SandboxSettings;
  const env = {
    HOOKTRAIL_BASE_URL: settings.baseUrl,
    HOOKTRAIL_VENDOR: settings.vendor,
    HOOKTRAIL_ACCESS_TOKEN: await accessTokenOf({ settings }),
  };
  return { ...peer, settings, env };
}

/** Starts `peer.mjs`. */
export async function startPeer(...args: string[]): Promise<Peer> {
  return await start([path.join(import.meta.dirname, 'peer.mjs'), ...args]);
}

/** Starts `made-service.mjs`. */
export async function startMadeService(...args: string[]): Promise<Service> {
  const peer = await start([path.join(import.meta.dirname, 'made-service.mjs'), ...args]);
  const env = {
    HOOKTRAIL_BASE_URL: `http://127.0.0.1:${peer.line}`,
    HOOKTRAIL_VENDOR: 'bench',
    HOOKTRAIL_ACCESS_TOKEN: 'a-token',
  };
  return { ...peer, env };
}

/** A folder on a disk, not in memory, so that syncs take their real time. */
export async function createFolder() {
  const parent = process.env['HOOKTRAIL_BENCH_FOLDER'] ?? os.tmpdir();
  const folder = await mkdtemp(path.join(parent, 'hooktrail-bench-'));
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

export interface SignedIn extends AsyncDisposable {
  /** The environment for a command that finds its access token where `login` cached it. */
  readonly env: Env;
  /** The file or keychain that holds the secrets. */
  readonly store: 'keychain' | 'file';
}

/** Creates a user who is signed in to a running sandbox. A file is sealed with a random key. */
export async function signInTo(
  settings: SandboxSettings,
  store: SignedIn['store'] = hasKeyring ? 'keychain' : 'file',
): Promise<SignedIn> {
  const home = await createHome();
  const bus = store === 'keychain' ? await startBus() : undefined;
  await bus?.startKeyring('a password of the bench');
  const { HOOKTRAIL_CLIENT_SECRET, ...configured } = sandboxEnv(settings);
  const env = {
    ...home.env,
    // Without the preload that gives tests their clock: its start-up time would be measured, too.
    NODE_OPTIONS: undefined,
    NODE_EXTRA_CA_CERTS: undefined,
    ...bus?.env,
    ...configured,
    HOOKTRAIL_STORE: store,
    HOOKTRAIL_PASSPHRASE: `htk1-${randomBytes(32).toString('base64url')}`,
  };
  await measure({
    file: process.execPath,
    args: [program, 'login', '--quiet'],
    env: { ...env, HOOKTRAIL_BROWSER: browserCommand, HOOKTRAIL_CLIENT_SECRET },
  });
  return {
    env,
    store,
    async [Symbol.asyncDispose]() {
      for (const resource of [bus, home]) await resource?.[Symbol.asyncDispose]();
    },
  };
}
