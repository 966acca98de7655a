import path from 'node:path';
import { advise, hooktrail } from '../advice.ts';
import { UsageError } from '../errors.ts';
import { type FoundPage, identified } from '../paging/page.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import { MANIFEST, readManifest } from './export-manifest.ts';
import { eventsIn, lossOf, type Part } from './export-part.ts';
import { keysReadAgain, readPart } from './part-reader.ts';

export interface StoredExport {
  readonly lists: readonly AsyncGenerator<FoundPage>[];
  readonly checkRest: () => Promise<void>;
}

export interface StoredExportOptions {
  readonly signal: AbortSignal;
  readonly onDoubt?: ((doubt: string) => void) | undefined;
  readonly comparesOutcomes: boolean;
}

/** Throws `UsageError` if there is no export, `ServiceError` if it is unreadable. */
export async function openExport(
  place: string,
  { signal, onDoubt, comparesOutcomes }: StoredExportOptions,
): Promise<StoredExport> {
  const manifest = await readManifest(place);
  if (!manifest) {
    throw new UsageError(`--from: ${place} holds no export: there is no ${MANIFEST}`, {
      next: advise`name the directory of ${hooktrail('events export')}, or a file of NDJSON`,
    });
  }
  if (!manifest.finishedAt)
    onDoubt?.(
      `the export in ${place} is not finished: events are missing; the same \`hooktrail events export\` adds them`,
    );
  const statuses = [manifest.filters['status'] ?? []].flat();
  if (comparesOutcomes && statuses.length === 1)
    onDoubt?.(`the export in ${place} was made with --status ${statuses[0]}: other events are missing`);
  for (const part of manifest.parts) {
    const loss = lossOf(part);
    if (loss)
      onDoubt?.(
        `${path.join(place, loss.file)} was damaged: it has ${grouped(loss.held)} of ${eventsText(loss.heldBefore)}`,
      );
  }
  const unchecked = new Set(manifest.parts.filter(({ read }) => read));
  const again = await keysReadAgain(place, manifest);
  const lists = manifest.queries.map((_, query) => {
    const parts = [...unchecked].filter((part) => part.query === query);
    return pagesOfParts(place, parts, again, signal, (part) => unchecked.delete(part));
  });
  const checkRest = async () => {
    for (const part of unchecked) {
      signal.throwIfAborted();
      for await (const _ of readPart(place, part));
    }
  };
  return { lists, checkRest };
}

/** Skips events with keys in `again` unless they are from parts of the update. */
async function* pagesOfParts(
  directory: string,
  parts: readonly Part[],
  again: ReadonlySet<number> | undefined,
  signal: AbortSignal,
  onChecked: (part: Part) => void,
): AsyncGenerator<FoundPage> {
  const all = eventsIn(parts);
  let read = 0;
  for (const part of parts) {
    for await (const items of readPart(directory, part)) {
      signal.throwIfAborted();
      read += items.count;
      const left = again && part.isSettled ? identified(items).without(again) : items;
      yield { items: left, total: undefined, share: read / all };
    }
    onChecked(part);
  }
}
