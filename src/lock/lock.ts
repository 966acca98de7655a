import type { Context } from '../context.ts';
import { type ErrorParts, ServiceError } from '../errors.ts';
import { type Generation, Generations } from './generations.ts';
import { lockFolder } from './lock-folder.ts';
import { type Condition, conditionOf, describeSelf } from './lock-holder.ts';

/** Another process kept the lock for longer than was waited. */
export class LockedError extends ServiceError {
  /** Its number and, where that is another, its host; undefined where it cannot be told. */
  readonly holder: string | undefined;

  constructor(message: string, parts: ErrorParts, holder?: string) {
    super(message, parts);
    this.holder = holder;
  }
}

export interface HeldLock {
  /** False once another process took the lock over. */
  isStillHeld(): Promise<boolean>;
}

export interface LockOptions<T> {
  /** Milliseconds to wait for another holder; 60 s when absent. */
  readonly patience?: number;
  /** Asked each time another process is done with the lock: a result ends the wait without taking the lock. */
  readonly meanwhile?: () => Promise<T | undefined>;
  /** Where the lock lies, a folder that exists; the user's own place for that name when absent. */
  readonly folder?: string;
  /** What is locked, for the message when patience ends. */
  readonly subject?: string;
}

type Surroundings = Pick<Context, 'clock' | 'machine' | 'signal'>;

/** A holder that cannot be looked at (another host, another container) counts as gone after this long. */
const UNSEEN_LIMIT = 10 * 60_000;
const CONDITION_INTERVAL = 200;

/**
 * Runs `work` while no other process of this user runs work under the same name, whatever their working directory,
 * `$HOME`, `XDG_*`, `TMPDIR` or version. A holder that died is replaced at once; one that lives on this machine keeps
 * the lock however long it is suspended. Throws `LockedError` naming the holder when patience ends, and the reason of
 * the context's signal when that aborts the wait.
 */
export async function withLock<T>(
  name: string,
  context: Surroundings,
  work: (lock: HeldLock) => Promise<T>,
  options: LockOptions<T> = {},
): Promise<T> {
  const generations = new Generations(options.folder ?? (await lockFolder(name, context.machine)));
  const self = await describeSelf(context.machine);
  const taken = await take(generations, self, context, options);
  if ('result' in taken) return taken.result;
  try {
    await generations.tidy(taken.number);
    return await work({ isStillHeld: () => generations.isHeld(taken.number, self) });
  } finally {
    await generations.release(taken.number, self);
  }
}

async function take<T>(
  generations: Generations,
  self: Awaited<ReturnType<typeof describeSelf>>,
  { clock, machine, signal }: Surroundings,
  { patience = 60_000, meanwhile, subject = 'the sign-in' }: LockOptions<T>,
): Promise<{ number: number } | { result: T }> {
  const deadline = performance.now() + patience;
  let seen: number | undefined;
  let looked = Number.NEGATIVE_INFINITY;
  for (;;) {
    const latest = await generations.latest();
    if (seen !== undefined && (seen !== latest.number || latest.released)) {
      const result = await meanwhile?.();
      if (result !== undefined) return { result };
    }
    const now = performance.now();
    let condition: Condition = latest.released ? 'dead' : 'running';
    if (!latest.released && (seen !== latest.number || now - looked >= CONDITION_INTERVAL)) {
      condition = await conditionIn(latest, generations, machine);
      looked = now;
    }
    seen = latest.number;
    if (condition === 'dead') {
      if (await generations.claim(latest.number + 1, self)) return { number: latest.number + 1 };
      continue;
    }
    if (now >= deadline) throw await outOfPatience(latest, machine, patience, subject);
    // Jitter keeps many waiters from asking at the same moments.
    await clock.sleep(15 + Math.random() * 35, signal);
  }
}

async function conditionIn(
  { number, holder }: Generation,
  generations: Generations,
  machine: Context['machine'],
): Promise<Condition> {
  const condition = holder ? await conditionOf(holder, machine) : 'unknown';
  return condition === 'unknown' && (await generations.age(number)) > UNSEEN_LIMIT ? 'dead' : condition;
}

async function outOfPatience(
  { holder }: Generation,
  machine: Context['machine'],
  patience: number,
  subject: string,
): Promise<LockedError> {
  const seconds = Math.round(patience / 1000);
  if (!holder) {
    const message = `another hooktrail process kept ${subject} locked for ${seconds} s`;
    return new LockedError(message, { next: 'run the command again' });
  }
  const other =
    holder.hostname === machine.hostname ? `${holder.pid}` : `${holder.pid} on ${holder.hostname}`;
  const suspended = (await conditionOf(holder, machine)) === 'suspended';
  return new LockedError(
    `another hooktrail process (${other}) kept ${subject} locked for ${seconds} s${suspended ? ': it is suspended' : ''}`,
    {
      next: suspended
        ? `let it go on (\`fg\`, or \`kill -CONT ${holder.pid}\`), or end it`
        : `wait for process ${other}, or end it`,
    },
    other,
  );
}
