import { endsRun } from './failure-runs.ts';

/*
 * When a row of deliveries is worth an alarm. The history of a row is a fold over its outcomes in order of
 * creation; its level follows from the history, from what the service reports of the endpoint and from the
 * time. A change is a level that differs from the one that was reported last.
 */

/** How one event was delivered. */
export interface DeliveryOutcome {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The same as the service wrote it. */
  readonly time: string;
  readonly hasFailed: boolean;
  /** Why it failed, if the event reveals it. */
  readonly error: string | null;
}

/** A run of failures that two successes in a row have not ended yet. */
export interface OpenRun {
  readonly since: string;
  readonly sinceMs: number;
  readonly failed: number;
  readonly events: number;
  /** The first of the successes after its latest failure. */
  readonly firstSuccess: string | null;
  /** The number of these successes. */
  readonly successes: number;
  /** True if it may have begun before the events that were read. */
  readonly edge: boolean;
}

/** A run that has ended, with the first of the successes that ended it. */
export interface EndedRun {
  readonly until: string;
  readonly failed: number;
  readonly events: number;
}

export interface RowHistory {
  readonly run: OpenRun | null;
  readonly ended: EndedRun | null;
  /** The newest event; null if there was none. */
  readonly last: string | null;
  readonly lastMs: number;
  readonly lastFailed: string | null;
  readonly lastError: string | null;
  readonly lastSuccess: string | null;
  /** `F` or `S` for each of the last ten events, newest first. */
  readonly recent: string;
}

export const NO_HISTORY: RowHistory = {
  run: null,
  ended: null,
  last: null,
  lastMs: 0,
  lastFailed: null,
  lastError: null,
  lastSuccess: null,
  recent: '',
};

const RECENT_EVENTS = 10;

/** The history with the next event in order of creation. */
export function withOutcome(history: RowHistory, outcome: DeliveryOutcome): RowHistory {
  const { at, time, hasFailed, error } = outcome;
  const recent = `${hasFailed ? 'F' : 'S'}${history.recent}`.slice(0, RECENT_EVENTS);
  const next = { ...history, last: time, lastMs: at, recent };
  if (hasFailed)
    return {
      ...next,
      run: failedRun(history, outcome),
      lastFailed: time,
      lastError: error ?? history.lastError,
    };
  return { ...next, ...afterSuccess(history, time), lastSuccess: time };
}

function failedRun({ run, last }: RowHistory, { at, time }: DeliveryOutcome): OpenRun {
  const begun = run ?? { since: time, sinceMs: at, failed: 0, events: 0, edge: last === null };
  return {
    ...begun,
    failed: begun.failed + 1,
    events: begun.events + 1,
    firstSuccess: null,
    successes: 0,
  };
}

function afterSuccess({ run, ended }: RowHistory, time: string): Pick<RowHistory, 'run' | 'ended'> {
  if (!run) return { run, ended };
  const successes = run.successes + 1;
  const firstSuccess = run.firstSuccess ?? time;
  if (!endsRun(successes)) return { run: { ...run, events: run.events + 1, firstSuccess, successes }, ended };
  // The successes that end a run do not belong to it.
  return {
    run: null,
    ended: { until: firstSuccess, failed: run.failed, events: run.events + 1 - successes },
  };
}

/** The state of a row that was reported, or is to be reported. `fine`: nothing is wrong. */
export const ALARM_LEVELS = ['fine', 'failing', 'silent', 'off', 'gone'] as const;
export type AlarmLevel = (typeof ALARM_LEVELS)[number];

/** When a row counts as failing. */
export interface AlarmRules {
  /** Failures in its run. */
  readonly failures: number;
  /** Milliseconds since the first of them. */
  readonly lengthMs: number;
}

/** Facts about a row that do not come from its events. */
export interface RowCircumstances {
  readonly endpoint: 'on' | 'off' | 'gone';
  /** True if its last event is longer ago than its rhythm explains. */
  readonly isSilent: boolean;
  /** Milliseconds since the epoch, by the service's clock. */
  readonly now: number;
}

/**
 * The level of a row now. A row that was reported as failing stays so until its run ends, even if an event
 * that appears late shows that the run had begun later.
 */
export function levelOf(
  { run }: RowHistory,
  reported: AlarmLevel,
  { endpoint, isSilent, now }: RowCircumstances,
  { failures, lengthMs }: AlarmRules,
): AlarmLevel {
  if (endpoint !== 'on') return endpoint;
  const isProven = run !== null && run.failed >= failures && now - run.sinceMs >= lengthMs;
  if (isProven || (run !== null && reported === 'failing')) return 'failing';
  return isSilent ? 'silent' : 'fine';
}
