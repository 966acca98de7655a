import { endsRun } from './failure-runs.ts';

/*
 * Decides when a row of deliveries is worth an alarm. The history is a fold over outcomes in order of
 * creation. The level follows from it, the endpoint's state and the time; a change is a level that differs
 * from the reported one.
 */

export interface DeliveryOutcome {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly time: string;
  readonly hasFailed: boolean;
  readonly error: string | null;
}

export interface OpenRun {
  readonly since: string;
  readonly sinceMs: number;
  readonly failed: number;
  readonly events: number;
  readonly firstSuccess: string | null;
  readonly successes: number;
  /** True if it may have begun before the events read. */
  readonly edge: boolean;
}

export interface EndedRun {
  readonly until: string;
  readonly failed: number;
  readonly events: number;
}

export interface RowHistory {
  readonly run: OpenRun | null;
  readonly ended: EndedRun | null;
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

/** Add outcomes in order of creation. */
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
  // The successes that end a run are not part of it.
  return {
    run: null,
    ended: { until: firstSuccess, failed: run.failed, events: run.events + 1 - successes },
  };
}

export const ALARM_LEVELS = ['fine', 'failing', 'silent', 'off', 'gone'] as const;
export type AlarmLevel = (typeof ALARM_LEVELS)[number];

export interface AlarmRules {
  readonly failures: number;
  readonly lengthMs: number;
}

export interface RowCircumstances {
  readonly endpoint: 'on' | 'off' | 'gone';
  /** True if its rhythm does not explain the time since its last event. */
  readonly isSilent: boolean;
  /** Milliseconds since the epoch, by the service's clock. */
  readonly now: number;
}

/** A row reported as failing stays so until its run ends, even if a late event moves its start. */
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
