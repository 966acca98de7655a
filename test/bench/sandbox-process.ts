import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { SandboxSettings } from '../support/sandbox.ts';
import { accessTokenOf } from '../support/sandbox-client.ts';

export const program = path.resolve(import.meta.dirname, '../../bin/hooktrail.js');

export interface SandboxProcess extends AsyncDisposable {
  readonly settings: SandboxSettings;
  readonly token: string;
  /** The environment that a command needs to search it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Starts `hooktrail sandbox` as a separate process, so that client and service do not share a processor. */
export async function startSandboxProcess(...args: string[]): Promise<SandboxProcess> {
  const child = spawn(
    process.execPath,
    [program, 'sandbox', '--json', '--quiet', '--auto-approve', ...args],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NO_COLOR: '1' },
    },
  );
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const settings = JSON.parse(line.toString()) as SandboxSettings;
  const token = await accessTokenOf({ settings });
  return {
    settings,
    token,
    env: {
      HOOKTRAIL_BASE_URL: settings.baseUrl,
      HOOKTRAIL_VENDOR: settings.vendor,
      HOOKTRAIL_ACCESS_TOKEN: token,
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
