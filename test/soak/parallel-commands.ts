import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Random } from '../../src/sandbox/random.ts';
import { sortableTime } from '../../src/sandbox/store/event-item.ts';
import type { EventStore } from '../../src/sandbox/store/event-store.ts';
import { program } from '../bench/processes.ts';
import { knownOf } from '../support/shape.ts';
import { takerOfSignIn, type Verdict } from './verdict.ts';

interface Finished {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line, and what is wrong with what it printed; undefined if nothing is. */
interface ParallelCommand {
  readonly args: readonly string[];
  readonly fault?: (stdout: string) => string | undefined;
  readonly finished?: (code: number | string) => void;
}

export interface CommandPlace {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly events: EventStore;
  readonly random: Random;
  readonly verdict: Verdict;
  /** When the soak began, in milliseconds since the epoch. */
  readonly began: number;
  /** The command line of a recovery. */
  readonly recover: readonly string[];
  /** Called when a recovery is about to be killed. */
  readonly noteKillOfRecovery: () => void;
  /** Called when a killed process has taken the sign-in with it. */
  readonly signInAgain: (taker: number) => Promise<void>;
}

/** The newest events may still be on their way while a command reads. */
const SETTLED_MS = 5_000;
/** The longest window that a command reads, so that a long soak asks no more than a short one. */
const WINDOW_MS = 300_000;
/** A killed command has run for up to so long. */
const LONGEST_LIFE_MS = 3_000;
/** A command that takes longer hangs. */
const PATIENCE_MS = 180_000;

/** Runs commands of every kind side by side, kills some of them, and checks what the others print. */
export class ParallelCommands {
  readonly #place: CommandPlace;
  /** Exports that were killed, as their command lines. */
  readonly #unfinished: ParallelCommand[] = [];
  readonly counts = { run: 0, killed: 0, exportsResumed: 0 };
  #exports = 0;

  constructor(place: CommandPlace) {
    this.#place = place;
  }

  /** Runs that many commands at once, of which one in eight is killed. */
  async wave(size: number): Promise<void> {
    const [recovery, ...others] = Array.from({ length: size }, (_, index) => this.#command(index));
    const all = [recovery as ParallelCommand, ...others];
    await Promise.all(all.map((command) => this.#run(command)));
  }

  /** Continues the exports that were killed. */
  async finishExports(): Promise<void> {
    for (const command of this.#unfinished.splice(0)) await this.#run(command, false);
  }

  #command(index: number): ParallelCommand {
    const { began, events, random, recover } = this.#place;
    if (index === 0) return { args: recover };
    if (index === 1) return this.#unfinished.shift() ?? this.#export();
    const end = Date.now() - SETTLED_MS;
    const start = Math.max(began, end - random.below(WINDOW_MS) - 1);
    const [after, before] = [start, end].map((time) => new Date(time).toISOString()) as [string, string];
    const window = ['--since', after, '--until', before];
    const stored = () =>
      events.page(
        { after: sortableTime(after) as string, before: sortableTime(before) as string },
        1,
        Number.POSITIVE_INFINITY,
      ).events;
    const [some] = stored();
    const kinds: ParallelCommand[] = [
      {
        args: ['events', 'search', '--ndjson', '--page-size', '50', ...window],
        fault: (stdout) => differenceOf(recordsIn(stdout), stored().map(recordName)),
      },
      {
        args: ['events', 'count', ...window],
        fault: (stdout) => differenceOf([stdout.trim()], [String(stored().length)]),
      },
      { args: ['events', 'stats', '--json', ...window] },
      { args: ['events', 'explain', '--json', ...window] },
      { args: ['events', 'health', '--json', ...window] },
      { args: ['token'] },
      { args: ['status', '--json', '--check'] },
      { args: ['event-types'] },
    ];
    if (some) {
      const get = ['events', 'get', some.eventId, '--ndjson'];
      kinds.push({ args: get, fault: (stdout) => differenceOf(recordsIn(stdout), [recordName(some)]) });
    }
    return random.pick(kinds);
  }

  #export(): ParallelCommand {
    const { began, events, home } = this.#place;
    const directory = path.join(home, `export-${this.#exports++}`);
    const end = Date.now() - SETTLED_MS;
    const start = Math.max(began, end - WINDOW_MS);
    const [after, before] = [start, end].map((time) => new Date(time).toISOString()) as [string, string];
    const filter = { after: sortableTime(after) as string, before: sortableTime(before) as string };
    const command: ParallelCommand = {
      args: ['events', 'export', directory, '--page-size', '20', '--since', after, '--until', before],
      fault: () => {
        const stored = events.page(filter, 1, Number.POSITIVE_INFINITY).events;
        return differenceOf(recordsInFolder(directory), stored.map(recordName));
      },
      finished: (code) => {
        if (code !== 'SIGKILL') return;
        this.counts.exportsResumed++;
        this.#unfinished.push(command);
      },
    };
    return command;
  }

  async #run(command: ParallelCommand, mayBeKilled = true): Promise<void> {
    const { env, random, verdict, recover, noteKillOfRecovery, signInAgain } = this.#place;
    const { args, fault, finished } = command;
    const lifeMs = mayBeKilled && random.below(8) === 0 ? random.below(LONGEST_LIFE_MS) : undefined;
    const noteKill = args === recover ? noteKillOfRecovery : undefined;
    const { code, stdout, stderr } = await runCommand(args, env, lifeMs, verdict, noteKill);
    this.counts.run++;
    finished?.(code);
    if (code === 'SIGKILL' && lifeMs !== undefined) {
      this.counts.killed++;
      return;
    }
    const taker = code === 4 ? takerOfSignIn(stderr, verdict) : undefined;
    if (taker !== undefined) return await signInAgain(taker);
    const wrong = code === 0 ? fault?.(stdout) : `ended with ${code}:\n${stderr}`;
    if (wrong !== undefined) verdict.violation(`hooktrail ${args.join(' ')}: ${wrong}`);
  }
}

/** Runs a command to its end, or kills it after `lifeMs`. */
export async function runCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  lifeMs: number | undefined,
  verdict: Verdict,
  noteKill: () => void = () => {},
): Promise<Finished> {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => {
    noteKill();
    verdict.killed.add(child.pid as number);
    child.kill('SIGKILL');
  };
  const timer = setTimeout(kill, lifeMs ?? PATIENCE_MS);
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  clearTimeout(timer);
  return { code: code ?? signal, stdout, stderr };
}

interface Named {
  readonly eventId: string;
  readonly subscriptionId: string;
}

/** The name of a record in the notes of a soak. */
export function recordName({ eventId, subscriptionId }: Named): string {
  return `${eventId} ${subscriptionId}`;
}

function recordsIn(ndjson: string): string[] {
  return ndjson
    .split('\n')
    .filter(Boolean)
    .map((line) => recordName(knownOf(JSON.parse(line))));
}

function recordsInFolder(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.ndjson'));
  return names.flatMap((name) => recordsIn(readFileSync(path.join(folder, name), 'utf8')));
}

/** Describes how two lists differ, whatever their order; undefined if they do not. */
function differenceOf(found: readonly string[], stored: readonly string[]): string | undefined {
  const [foundOnce, storedOnce] = [new Set(found), new Set(stored)];
  const lost = [...storedOnce].filter((name) => !foundOnce.has(name));
  const foreign = [...foundOnce].filter((name) => !storedOnce.has(name));
  const repeats = found.length - foundOnce.size;
  if (lost.length + foreign.length + repeats === 0) return undefined;
  return `of ${stored.length} stored, ${lost.length} lost (${lost.slice(0, 3)}), ${repeats} repeated, ${foreign.length} not stored (${foreign.slice(0, 3)})`;
}
