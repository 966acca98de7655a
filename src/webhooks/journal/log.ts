import type { Clock, Machine } from '../../context.ts';
import { conditionOf } from '../../lock/lock-holder.ts';
import { JournalError } from './error.ts';
import type { JournalFile } from './file.ts';
import { GroupCommit } from './group-commit.ts';
import { joinedRecord, Kind, type Member, memberRecord } from './record.ts';
import type { JournalState } from './state.ts';

export interface JournalParts {
  readonly file: JournalFile;
  readonly state: JournalState;
  /** Up to where `state` has read the file. */
  readonly position: number;
  readonly self: Member;
  readonly clock: Clock;
  readonly machine: Pick<Machine, 'platform' | 'pid' | 'hostname' | 'hasProcess'>;
}

const WATCH = 100;
const LOOK_AT_OTHERS = 2_000;
const EMPTY = Buffer.alloc(0);

/** The file as all processes that have it open write and read it. `journal.ts` says how they get along. */
export class JournalLog {
  readonly state: JournalState;
  readonly self: Member;
  readonly #file: JournalFile;
  readonly #clock: Clock;
  readonly #machine: JournalParts['machine'];
  readonly #commit: GroupCommit;
  /** The records to publish when somebody joins; set by the journal. */
  publish: (firstOther: boolean) => Buffer[] = () => [];
  /** Whether other processes have the journal open. */
  shared: boolean;
  /** Why nothing may be acknowledged any more. */
  failure: JournalError | undefined;
  /** Rejects when the journal can no longer be trusted; never resolves. */
  readonly failed: Promise<never>;
  #position: number;
  /** Ids were read that may not be on the disk yet. */
  #unsynced = false;
  /** A write of ours failed half-way: bytes that are no record may be our own. */
  #torn = false;
  #oddLooks = 0;
  #lookedAtOthers = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Between the record that says so and the one that says goodbye. */
  #isMember = false;
  #reject: (error: JournalError) => void = () => {};

  constructor({ file, state, position, self, clock, machine }: JournalParts) {
    this.state = state;
    this.self = self;
    this.#file = file;
    this.#position = position;
    this.shared = state.members.size > 0;
    this.#clock = clock;
    this.#machine = machine;
    this.#commit = new GroupCommit(file, {
      written: (bytes, failed) => {
        this.#torn ||= failed;
        this.look(bytes);
      },
      syncing: () => {
        this.#unsynced = false;
      },
    });
    this.failed = new Promise((_resolve, reject) => {
      this.#reject = reject;
    });
    this.failed.catch(() => undefined);
  }

  get path(): string {
    return this.#file.path;
  }

  /** Announces this process and waits, by `wait`, until the others know of it. The caller has the lock for joining. */
  async join(wait: () => Promise<void>): Promise<void> {
    this.state.newcomers = [];
    this.shared = this.#others().length > 0;
    this.state.members.set(this.self.number, this.self);
    this.#isMember = true;
    await this.append(joinedRecord(this.self), true);
    if (this.shared) await wait();
    this.#timer = setInterval(() => this.#watch(), WATCH);
    this.#timer.unref();
  }

  /** Members that have not welcomed this process yet. */
  strangers(): Member[] {
    this.look();
    const known = this.state.welcomes.get(this.self.number);
    return this.#others().filter(({ number }) => !known?.has(number));
  }

  /** Declares a member dead: its claims are void for everybody. */
  async bury(member: Member): Promise<void> {
    await this.append(memberRecord(Kind.gone, this.self.number, member.number), false);
  }

  /** Resolves when the record is in the file and read, with `durable` when it is on the disk. */
  append(record: Buffer, durable: boolean): Promise<void> {
    return this.#commit.add(record, durable);
  }

  /** Resolves when every id that was read is on the disk: its writer may not have come to that. */
  async settle(): Promise<void> {
    if (this.#unsynced) await this.append(EMPTY, true);
  }

  /** Reads what was appended since the last look. `own`: bytes that were just written by this process. */
  look(own = 0): void {
    if (this.failure) throw this.failure;
    try {
      this.#read(own);
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /** Finds members that died; asks the system at most every 2 s. */
  async lookAtOthers(): Promise<void> {
    if (this.#clock.now() - this.#lookedAtOthers < LOOK_AT_OTHERS) return;
    this.#lookedAtOthers = this.#clock.now();
    for (const member of this.#others()) {
      if ((await conditionOf(member.holder, this.#machine)) === 'dead') await this.bury(member);
    }
  }

  /** Says goodbye, waits for the disk and closes the file. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#isMember = false;
    try {
      if (!this.failure) await this.append(memberRecord(Kind.left, this.self.number), true);
    } catch {
      // Whoever opens the journal next finds this process gone.
    } finally {
      await this.#commit.idle();
      this.#file.close();
    }
  }

  #watch(): void {
    if (this.failure) return;
    try {
      this.look();
      this.#greet();
      // Bytes at the end that do not become a record, and nobody is there who could be writing them.
      const odd = !this.shared && !this.#torn && !this.#commit.busy && this.#file.size() !== this.#position;
      this.#oddLooks = odd ? this.#oddLooks + 1 : 0;
      if (this.#oddLooks > 2) throw this.#foreign();
    } catch (error) {
      this.#fail(error);
    }
    if (this.shared) this.lookAtOthers().catch((error) => this.#fail(error));
  }

  #read(own: number): void {
    const size = this.#file.size();
    if (size === this.#position) return;
    if (size < this.#position) throw this.#foreign();
    if (!this.shared && size === this.#position + own) {
      this.#position = size;
      return;
    }
    const { end, skipped } = this.state.read(this.#file.read(this.#position, size));
    this.#position += end;
    this.#unsynced ||= end > 0;
    if (skipped > 0 && !this.shared && !this.#torn) throw this.#foreign();
    if (this.#isMember && !this.state.members.has(this.self.number)) throw this.#evicted();
    this.#greet();
  }

  /** Welcomes who has joined, and publishes what is being handed over. */
  #greet(): void {
    if (!this.#timer) return;
    const { members, newcomers } = this.state;
    this.state.newcomers = [];
    const present = newcomers.filter(({ number }) => number !== this.self.number && members.has(number));
    const wasShared = this.shared;
    this.shared = this.#others().length > 0;
    if (present.length === 0) return;
    const claims = this.publish(!wasShared);
    const welcomes = present.map(({ number }) => memberRecord(Kind.welcomed, this.self.number, number));
    // In this order: who reads the welcome has read the claims.
    this.append(Buffer.concat([...claims, ...welcomes]), false).catch(() =>
      this.state.newcomers.push(...present),
    );
  }

  #others(): Member[] {
    return [...this.state.members.values()].filter(({ number }) => number !== this.self.number);
  }

  #foreign(): JournalError {
    return new JournalError(`another program changed the journal ${this.path} while it was in use`, {
      next: 'leave the file alone while hooktrail runs; started again, it goes on with what is whole in it',
    });
  }

  #evicted(): JournalError {
    return new JournalError('another hooktrail process took this one for dead and went on with the journal', {
      next: 'start again; this can happen to a process that is suspended in another container',
    });
  }

  #fail(error: unknown): void {
    if (error instanceof JournalError && !error.isFatal) return;
    this.failure ??=
      error instanceof JournalError ? error : new JournalError(String(error), { cause: error });
    this.#reject(this.failure);
  }
}
