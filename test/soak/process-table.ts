import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Resident size in MiB; undefined if the process has ended. */
export function residentMiB(pid: number): number | undefined {
  const [, kiB] = /^VmRSS:\s+(\d+) kB$/m.exec(textOf(pid, 'status')) ?? [];
  return kiB === undefined ? undefined : Number(kiB) / 1024;
}

/**
 * The open files of a process by their kind: `socket`, `pipe`, `anon_inode` or `file`; none if it has ended.
 */
export function openFiles(pid: number): Map<string, number> {
  const folder = `/proc/${pid}/fd`;
  const kinds = new Map<string, number>();
  for (const name of namesIn(folder)) {
    const [, kind = 'file'] = /^(\w+):/.exec(linkOf(`${folder}/${name}`)) ?? [];
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return kinds;
}

/** The command lines of the processes whose environment contains a text, but for this process. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => textOf(Number(name), 'environ').includes(text))
    .map((name) => `${name} ${textOf(Number(name), 'cmdline').replaceAll('\0', ' ')}`);
}

function textOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    // The listing's own descriptor is closed by now.
    return 'gone:';
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
