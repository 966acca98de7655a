import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { program } from '../bench/processes.ts';
import { openFiles, residentMiB } from './process-table.ts';
import { takerOfSignIn, type Verdict } from './verdict.ts';

interface Sample {
  readonly MiB: number;
  readonly files: number;
}

/** Growth that is put down to the garbage collector's own rhythm. */
const MAX_GROWN_MIB = 8;
/** Connections come and go. */
const MAX_MORE_FILES = 2;

export const FLAT_RULE = `flat: the median of the second half of the samples is at most ${MAX_GROWN_MIB} MiB and ${MAX_MORE_FILES} open files above that of the first half`;

interface LongRunnerPlace {
  readonly env: NodeJS.ProcessEnv;
  readonly verdict: Verdict;
  /** Called when a killed process has taken the sign-in with it. */
  readonly signInAgain: (taker: number) => Promise<void>;
}

/** A command that runs until it is stopped, and is started again when it was killed. */
export class LongRunner {
  /** Milliseconds since the epoch. */
  readonly killedAt: number[] = [];
  readonly name: string;
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #ready: RegExp;
  readonly #verdict: Verdict;
  readonly #signInAgain: LongRunnerPlace['signInAgain'];
  readonly #samples: Sample[] = [];
  #child: ChildProcess | undefined;
  #isReady = false;
  #isEnding = false;
  /** The end of what it printed on standard error. */
  #printed = '';

  constructor(
    name: string,
    args: readonly string[],
    ready: RegExp,
    { env, verdict, signInAgain }: LongRunnerPlace,
  ) {
    this.name = name;
    this.#args = args;
    this.#ready = ready;
    this.#env = env;
    this.#verdict = verdict;
    this.#signInAgain = signInAgain;
  }

  get pid(): number {
    return this.#child?.pid as number;
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** True if it runs, and has printed that it is ready. */
  get isReady(): boolean {
    return this.#isReady && this.isRunning;
  }

  /** Resolves when it has printed that it is ready. */
  async start(): Promise<void> {
    this.#isEnding = false;
    this.#isReady = false;
    const child = spawn(process.execPath, [program, ...this.#args], {
      env: this.#env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    let isReady = () => {};
    const ready = new Promise<void>((resolve) => {
      isReady = resolve;
    });
    const from = this.#printed.length;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#printed += text;
      if (this.#ready.test(this.#printed.slice(from))) isReady();
    });
    child.once('exit', (code, signal) => {
      if (this.#isEnding) return;
      const taker = code === 4 ? takerOfSignIn(this.#printed.slice(from), this.#verdict) : undefined;
      if (taker !== undefined)
        return void this.#signInAgain(taker)
          .then(() => this.start())
          .then(isReady);
      const end = this.#printed.split('\n').slice(-20).join('\n  ');
      this.#verdict.violation(`${this.name} ended by itself with ${code ?? signal}:\n  ${end}`);
      isReady();
    });
    await ready;
    this.#isReady = true;
  }

  /** Ends it by SIGKILL, and starts it again after `pauseMs`. `meanwhile` is called in between. */
  async kill(pauseMs: number, meanwhile: () => void = () => {}): Promise<void> {
    if (!this.isRunning) return;
    this.#isEnding = true;
    this.#isReady = false;
    this.#verdict.killed.add(this.pid);
    this.killedAt.push(Date.now());
    const ended = once(this.#child as ChildProcess, 'exit');
    this.#child?.kill('SIGKILL');
    await ended;
    meanwhile();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await this.start();
  }

  /** Ends it by SIGTERM. */
  async stop(): Promise<void> {
    if (!this.isRunning) return;
    this.#isEnding = true;
    const ended = once(this.#child as ChildProcess, 'exit');
    this.#child?.kill('SIGTERM');
    const [code, signal] = await ended;
    if (code !== 143) this.#verdict.violation(`${this.name} ended with ${code ?? signal} after SIGTERM`);
  }

  /** Samples its memory and open files, and describes them. */
  sample(): string {
    const MiB = residentMiB(this.pid);
    if (MiB === undefined) return `${this.name} is not running`;
    const files = [...this.openFiles().values()].reduce((sum, count) => sum + count, 0);
    this.#samples.push({ MiB, files });
    return `${this.name} ${MiB.toFixed(1)} MiB, ${files} open files`;
  }

  /** Describes its samples, and reports a violation if they are not flat. */
  checkFlat(): string {
    const middle = this.#samples.length >> 1;
    const halves = [this.#samples.slice(0, middle), this.#samples.slice(middle)] as const;
    const [MiB, laterMiB] = halves.map((half) => median(half.map((sample) => sample.MiB))) as [
      number,
      number,
    ];
    const [files, laterFiles] = halves.map((half) => median(half.map((sample) => sample.files))) as [
      number,
      number,
    ];
    const text = `${MiB.toFixed(1)} MiB and ${files} open files in the first half, ${laterMiB.toFixed(1)} and ${laterFiles} in the second`;
    if (laterMiB > MiB + MAX_GROWN_MIB || laterFiles > files + MAX_MORE_FILES)
      this.#verdict.violation(`${this.name} is not flat: ${text}`);
    return `${text}, ${this.#samples.length} samples`;
  }

  openFiles(): Map<string, number> {
    return openFiles(this.pid);
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? 0;
}
