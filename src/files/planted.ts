import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import path from 'node:path';
import type { Machine } from '../context.ts';
import { UsageError } from '../errors.ts';

/** The maximum number of links to follow, as on Linux. */
const MOST_LINKS = 40;

/**
 * Refuses a path through something that another user has put into a folder that everybody can write, such as `/tmp`: a
 * link there could make the program replace a file of that user's choice, and a folder or file there would show them
 * what is written. Root and the user are trusted owners. `named` is the option or argument that gave the path, for the
 * message. Throws `UsageError`. A path that is missing or cannot be inspected is left to the code that opens it.
 */
export function refusePlanted(
  file: string,
  named: string,
  machine: Pick<Machine, 'platform' | 'userId'>,
): void {
  if (machine.platform === 'win32') return;
  let at = path.parse(path.resolve(file)).root;
  let rest = path.resolve(file).split(path.sep).filter(Boolean);
  let parent: Stats | undefined = look(at);
  for (let links = 0; rest.length > 0 && parent && links < MOST_LINKS; ) {
    const [name = '', ...others] = rest;
    const place = path.join(at, name);
    const found = look(place);
    if (!found) return;
    if ((parent.mode & 0o002) !== 0 && found.uid !== 0 && found.uid !== machine.userId) {
      const kind = found.isSymbolicLink() ? 'link' : found.isDirectory() ? 'folder' : 'file';
      throw new UsageError(
        `${named}: ${place} is a ${kind} that another user (${found.uid}) put into a folder that everybody can write to`,
        { next: 'choose a path in a folder that only you can write to' },
      );
    }
    if (found.isSymbolicLink()) {
      links++;
      const target = path.resolve(at, readlinkSync(place));
      at = path.parse(target).root;
      rest = [...target.split(path.sep).filter(Boolean), ...others];
      parent = look(at);
    } else {
      at = place;
      rest = others;
      parent = found;
    }
  }
}

function look(place: string): Stats | undefined {
  try {
    return lstatSync(place);
  } catch {
    return undefined;
  }
}
