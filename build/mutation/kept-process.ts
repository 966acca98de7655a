import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import type { RunnerTask } from 'vitest';
import type { PoolOptions, PoolRunnerInitializer, PoolWorker, WorkerRequest } from 'vitest/node';

type Listener = (argument: unknown) => void;

/** The process that runs the tests of one change after another; undefined until the first needs it. */
let kept: ChildProcess | undefined;

function startProcess({ distPath, env, execArgv, project }: PoolOptions): ChildProcess {
  const entry = path.join(distPath, 'workers/forks.js');
  const started = fork(entry, [], {
    env,
    execArgv,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  started.once('exit', () => {
    if (kept === started) kept = undefined;
  });
  project.vitest.onClose(() => void started.kill());
  return started;
}

/**
 * One run of tests in the kept process, at less than half of the processor time. Vitest starts and stops a process
 * for each run: here the first run starts it, the others are told that it has started, and none stops it.
 * Each run loads the project's modules anew, so that nothing remains of the change before it.
 */
class RunInKeptProcess implements PoolWorker {
  readonly name = 'kept';
  readonly #project: PoolOptions['project'];
  readonly #process: ChildProcess;
  readonly #isFirst: boolean;
  readonly #listeners: [event: string, listener: Listener][] = [];

  constructor(options: PoolOptions) {
    this.#project = options.project;
    this.#isFirst = kept === undefined;
    kept ??= startProcess(options);
    this.#process = kept;
  }

  async start(): Promise<void> {}

  send(message: WorkerRequest): void {
    if (message.type === 'stop') this.#answer('stopped');
    else if (message.type === 'start' && !this.#isFirst) this.#answer('started');
    else if (message.type === 'run')
      this.#process.send({ ...message, context: this.#renewed(message.context) });
    else this.#process.send(message);
  }

  /** The process got its configuration, which names the tests to run, when it started. */
  #renewed<Context extends object>(context: Context) {
    const { serializedConfig: config, vite } = this.#project;
    return { ...context, config, invalidates: [...vite.moduleGraph.fileToModulesMap.keys()] };
  }

  #answer(type: 'started' | 'stopped'): void {
    this.#process.emit('message', { __vitest_worker_response__: true, type });
  }

  on(event: string, listener: Listener): void {
    this.#listeners.push([event, listener]);
    this.#process.on(event, listener);
  }

  off(event: string, listener: Listener): void {
    this.#process.off(event, listener);
  }

  /** What a test has begun may go on after its time is up, and would disturb the next change. */
  async stop(): Promise<void> {
    for (const [event, listener] of this.#listeners) this.#process.off(event, listener);
    if (!isSpoilt(this.#project)) return;
    if (kept === this.#process) kept = undefined;
    this.#process.kill('SIGKILL');
  }

  deserialize(message: unknown): unknown {
    return message;
  }
}

/** True if in the run that has ended the time of a test or of a hook was up, or a file could not be loaded. */
function isSpoilt({ vitest }: PoolOptions['project']): boolean {
  const files = vitest.state.getFiles();
  const tasks: RunnerTask[] = [...files];
  for (const task of tasks) if ('tasks' in task) tasks.push(...task.tasks);
  const errors = tasks.flatMap(({ result }) => result?.errors ?? []);
  const hasHung = errors.some(({ message }) => /timed out in \d+ms/.test(message));
  return hasHung || files.some(({ result }) => result?.errors?.length);
}

export const keptProcess: PoolRunnerInitializer = {
  name: 'kept',
  createPoolWorker: (options) => new RunInKeptProcess(options),
};
