import { randomInt } from 'node:crypto';
import path from 'node:path';
import type { Context } from '../../context.ts';
import { makeFolder } from '../../files/folders.ts';
import { syncFolder } from '../../files/replace-file.ts';
import { withLock } from '../../lock/lock.ts';
import { conditionOf, describeSelf } from '../../lock/lock-holder.ts';
import { compactJournal } from './compact.ts';
import { JournalError } from './error.ts';
import { JournalFile } from './file.ts';
import { Journal } from './journal.ts';
import { loadJournal } from './load.ts';
import { JournalLog } from './log.ts';
import { realJournalPath, refuseForeign, unusable } from './path.ts';
import type { Member } from './record.ts';

type Surroundings = Pick<Context, 'clock' | 'machine' | 'signal'>;

export interface JournalOptions {
  /** Milliseconds after which ids are forgotten; never when absent. */
  readonly keep?: number | undefined;
}

export interface OpenedJournal {
  readonly journal: Journal;
  /** There was none at this path. */
  readonly isNew: boolean;
  /** Bytes that belonged to no record and were left out. */
  readonly damaged: number;
}

const ASK_AGAIN = 20;
/** A process that lives answers within a tenth of a second unless it is suspended. */
const WELCOME_PATIENCE = 15_000;
/** One that cannot be looked at (another container) has to prove itself sooner. */
const UNSEEN_PATIENCE = 5_000;
/** Below this nothing is gained by writing the file anew. */
const WORTH_COMPACTING = 64 * 1024;

/**
 * Opens a journal beside any number of other processes that have it open. One that nobody else has is mended (a torn end is
 * cut off) and written anew without what is of no more use where that is a quarter of it. Throws `UsageError` that
 * names the flag when the file cannot be used, `JournalError` when another process does not answer.
 */
export async function openJournal(
  file: string,
  options: JournalOptions,
  context: Surroundings,
): Promise<OpenedJournal> {
  const real = realJournalPath(file);
  const folder = `${real}.lock`;
  const lock = { folder, subject: `the journal ${real}` };
  try {
    refuseForeign(real);
    makeFolder(folder);
    return await withLock('journal', context, () => openLocked(real, options, context), lock);
  } catch (error) {
    // A folder that may not be written, a disk that is full.
    throw isOfSystem(error) ? unusable(real, error) : error;
  }
}

async function openLocked(
  real: string,
  { keep }: JournalOptions,
  context: Surroundings,
): Promise<OpenedJournal> {
  const { clock, machine } = context;
  const oldest = keep === undefined ? 0 : Math.floor((clock.now() - keep) / 1000);
  let file = JournalFile.open(real, machine.platform);
  let log: JournalLog | undefined;
  try {
    let loaded = await loadJournal(file, oldest);
    const present: Member[] = [];
    const dead: Member[] = [];
    for (const member of loaded.state.members.values()) {
      ((await conditionOf(member.holder, machine)) === 'dead' ? dead : present).push(member);
    }
    const { isNew, damaged } = loaded;
    if (present.length === 0) {
      if (loaded.size > loaded.end) file.cut(loaded.end);
      const waste = loaded.state.disposable + damaged;
      const isWorthIt = waste > WORTH_COMPACTING && waste > loaded.size / 4;
      if (isWorthIt && (await isCompacted(file, oldest))) {
        file.close();
        file = JournalFile.open(real, machine.platform);
        loaded = await loadJournal(file, oldest);
      }
    }
    if (isNew) await syncFolder(path.dirname(real));
    const self = { number: randomInt(1, 0xffff_ffff), holder: await describeSelf(machine) };
    log = new JournalLog({ file, state: loaded.state, position: loaded.end, self, clock, machine });
    const journal = new Journal(log, context);
    for (const member of dead) if (loaded.state.members.has(member.number)) await log.bury(member);
    for (const member of dead) loaded.state.members.delete(member.number);
    const joining = log;
    await joining.join(() => welcomed(joining, context));
    return { journal, isNew, damaged };
  } catch (error) {
    if (log) await log.close();
    else file.close();
    throw error;
  }
}

/** Whether the journal was written anew: where there is no room for that, it is used as it is. */
async function isCompacted(file: JournalFile, oldest: number): Promise<boolean> {
  try {
    await compactJournal(file, oldest);
    return true;
  } catch (error) {
    if (isOfSystem(error)) return false;
    throw error;
  }
}

function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

/** Waits until every other member has welcomed this process, has left, or is dead. */
async function welcomed(log: JournalLog, { clock, machine, signal }: Surroundings): Promise<void> {
  const asked = performance.now();
  for (;;) {
    const strangers = log.strangers();
    if (strangers.length === 0) return;
    const waited = performance.now() - asked;
    for (const stranger of strangers) {
      const condition = await conditionOf(stranger.holder, machine);
      if (condition === 'dead' || (condition === 'unknown' && waited > UNSEEN_PATIENCE)) {
        await log.bury(stranger);
      } else if (waited > WELCOME_PATIENCE) {
        throw unanswered(stranger, condition === 'suspended', log.path);
      }
    }
    await clock.sleep(ASK_AGAIN, signal);
  }
}

function unanswered({ holder }: Member, suspended: boolean, file: string): JournalError {
  return new JournalError(
    `another hooktrail process (${holder.pid}) has the journal ${file} and does not answer${suspended ? ': it is suspended' : ''}`,
    {
      next: suspended
        ? `let it go on (\`fg\`, or \`kill -CONT ${holder.pid}\`), or end it`
        : `end process ${holder.pid} if it hangs`,
    },
  );
}
