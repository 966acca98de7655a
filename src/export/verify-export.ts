import type { Reporter } from '../terminal/reporter.ts';
import { setAside } from './export-directory.ts';
import { type Manifest, writeManifest } from './export-manifest.ts';
import { damagedPart, eventsIn, filesOf, type Part } from './export-part.ts';
import { DamagedPartError, readPart } from './part-reader.ts';

async function damageOf(directory: string, part: Part): Promise<DamagedPartError | undefined> {
  try {
    for await (const _ of readPart(directory, part));
    return undefined;
  } catch (error) {
    if (error instanceof DamagedPartError) return error;
    throw error;
  }
}

/**
 * Checks every file in the manifest. Damaged and missing ones will be read again; damaged files are kept
 * under another name. If a file is unreadable, throws `ServiceError` and touches nothing.
 */
export async function verifyExport(
  directory: string,
  manifest: Manifest,
  reporter: Pick<Reporter, 'warning'>,
  signal: AbortSignal,
): Promise<Manifest> {
  const parts: Part[] = [];
  let damaged = 0;
  const found = await findDamages(directory, manifest, signal);
  for (const { part, damage } of found) {
    if (damage) damaged++;
    parts.push(damage ? await putAside(directory, part, damage, reporter) : part);
  }
  if (parts.every((part, index) => part === manifest.parts[index])) return manifest;
  const { finishedAt } = manifest;
  const isRepair = finishedAt !== null && damaged > 0;
  const verified: Manifest = {
    ...manifest,
    // Settle intact parts, since the service may have deleted their events.
    parts: isRepair ? parts.map((part) => ({ ...part, isSettled: true })) : parts,
    finishedAt: isRepair ? null : finishedAt,
    events: finishedAt && !isRepair ? eventsIn(parts) : null,
  };
  await writeManifest(directory, verified);
  return verified;
}

interface Found {
  readonly part: Part;
  readonly damage: DamagedPartError | undefined;
}

async function findDamages(directory: string, { parts }: Manifest, signal: AbortSignal): Promise<Found[]> {
  const found: Found[] = [];
  for (const part of parts) {
    signal.throwIfAborted();
    const damage = part.read && (await damageOf(directory, part));
    const whole = undamaged(part);
    // The user may have put an undamaged copy in its place.
    const isWhole = whole !== undefined && !(await damageOf(directory, whole));
    found.push(isWhole ? { part: whole, damage: undefined } : { part, damage });
  }
  return found;
}

function undamaged(part: Part): Part | undefined {
  const { read, lost } = part;
  return lost && { ...part, read: { ...lost, ...read, held: lost.held }, lost: undefined };
}

async function putAside(
  directory: string,
  part: Part,
  { file, damage }: DamagedPartError,
  reporter: Pick<Reporter, 'warning'>,
): Promise<Part> {
  const aside = await setAside(directory, file, 'damaged');
  // Set all its files aside, since the service may return fewer events than an intact one has.
  for (const other of filesOf(part))
    if (other.file !== file) await setAside(directory, other.file, 'damaged');
  const kept = aside ? `it is kept as ${aside}, and its events` : 'its events';
  reporter.warning(`${file} ${damage}; ${kept} will be downloaded again`, { kind: 'incomplete' });
  return damagedPart(part);
}
