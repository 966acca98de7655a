import type { Reporter } from '../../output/reporter.ts';
import type { Manifest, Part } from './manifest.ts';
import { faultOf } from './part.ts';

/**
 * Reads every file that the manifest vouches for. Those that are damaged or gone are to be read again, and the export
 * is not finished any more.
 */
export async function verifyExport(
  directory: string,
  manifest: Manifest,
  reporter: Pick<Reporter, 'warning'>,
  signal: AbortSignal,
): Promise<Manifest> {
  const parts: Part[] = [];
  let sound = true;
  for (const part of manifest.parts) {
    signal.throwIfAborted();
    const fault = part.sha256 ? await faultOf(directory, part) : undefined;
    if (fault) reporter.warning(`${part.file} ${fault}; it will be downloaded again`);
    sound &&= fault === undefined;
    parts.push(fault ? { ...part, sha256: null } : part);
  }
  const events = parts.reduce((sum, part) => sum + (part.events ?? 0), 0);
  const finished = sound && parts.every(({ sha256 }) => sha256) && events === manifest.events;
  return { ...manifest, parts, finishedAt: finished ? manifest.finishedAt : null };
}
