import {
  type AlarmLevel,
  type AlarmRules,
  levelOf,
  NO_HISTORY,
  type RowHistory,
  withOutcome,
} from '../../src/statistics/row-alarm.ts';
import { MINUTE_MS } from '../../src/time/lengths.ts';
import { drawsOf, RHYTHMS, type Rhythm, WEEK_MS } from '../statistics/made-rhythms.ts';

const SUBSCRIPTIONS = 20;
const WEEKS = 8;
const WEEKS_PER_MONTH = 52 / 12;
/** As of `events health --watch`. */
const INTERVAL_MS = MINUTE_MS;
/** Shares of events that fail by chance while nothing is wrong. */
const FAILING_SHARES = [0.01, 0.05];
const RULES: readonly (readonly [flags: string, rules: AlarmRules])[] = [
  ['--after-failures 1', { failures: 1, lengthMs: 0 }],
  ['--after-failures 2', { failures: 2, lengthMs: 0 }],
  ['by default', { failures: 3, lengthMs: 0 }],
  ['--after-failures 3 --after 10m', { failures: 3, lengthMs: 10 * MINUTE_MS }],
];

interface Outcome {
  readonly at: number;
  readonly hasFailed: boolean;
}

/**
 * Prints how often health --watch takes failures by chance for an outage, and how soon it reports a real one,
 * on the made rhythms.
 */
export function benchAlarm(): void {
  for (const share of FAILING_SHARES)
    for (const [flags, rules] of RULES) {
      const names = Object.entries(RHYTHMS);
      const alarms = names.map(([name, rhythm]) => falseAlarmsOf(name, rhythm, share, rules));
      const sum = alarms.reduce((all, one) => all + one, 0);
      const months = (names.length * SUBSCRIPTIONS * WEEKS) / WEEKS_PER_MONTH;
      console.log(
        `${100 * share} % fail by chance, ${flags}: ${(sum / months).toFixed(3)} false alarms a month and subscription (${sum})`,
      );
    }
  for (const [flags, rules] of RULES)
    for (const [name, rhythm] of Object.entries(RHYTHMS)) {
      const minutes = delaysOf(name, rhythm, rules);
      const after = (part: number) => minutes[Math.floor(part * minutes.length)]?.toFixed(0);
      console.log(
        `${flags}, ${name}: half of the outages are reported ${after(0.5)} min after their first failure, 9 in 10 after ${after(0.9)}`,
      );
    }
}

/** The events of a subscription, of which a share fails by chance, and all from a time on. */
function outcomesOf(
  times: readonly number[],
  share: number,
  outage: number,
  random: () => number,
): Outcome[] {
  return times.map((at) => ({ at, hasFailed: at >= outage || random() < share }));
}

function falseAlarmsOf(name: string, rhythm: Rhythm, share: number, rules: AlarmRules): number {
  let alarms = 0;
  for (let subscription = 0; subscription < SUBSCRIPTIONS; subscription++) {
    const random = drawsOf(name, subscription);
    const outcomes = outcomesOf(rhythm(WEEKS, random), share, Number.POSITIVE_INFINITY, random);
    for (const _ of alarmsOf(outcomes, rules)) alarms++;
  }
  return alarms;
}

/** Minutes from the first failure of an outage that begins anywhere in the fifth week, ascending. */
function delaysOf(name: string, rhythm: Rhythm, rules: AlarmRules): number[] {
  const minutes = Array.from({ length: SUBSCRIPTIONS }, (_, subscription) => {
    const random = drawsOf(name, subscription);
    const times = rhythm(WEEKS, random);
    const begin = (times[0] as number) + (4 + random()) * WEEK_MS;
    const outcomes = outcomesOf(
      times.filter((time) => time >= begin),
      0,
      begin,
      random,
    );
    const first = outcomes.find(({ hasFailed }) => hasFailed)?.at ?? Number.POSITIVE_INFINITY;
    const [alarm = Number.POSITIVE_INFINITY] = alarmsOf(outcomes, rules);
    return (alarm - first) / MINUTE_MS;
  });
  return minutes.sort((a, b) => a - b);
}

/** The times of the polls that report a failing subscription. */
function* alarmsOf(outcomes: readonly Outcome[], rules: AlarmRules): Generator<number> {
  let history: RowHistory = NO_HISTORY;
  let level: AlarmLevel = 'fine';
  for (const [index, { at, hasFailed }] of outcomes.entries()) {
    history = withOutcome(history, { at, time: '', hasFailed, error: null });
    const next = outcomes[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const since = history.run?.sinceMs ?? at;
    // The polls that may report it: the one after this event, and the one after which it has lasted so long.
    for (const time of [pollAfter(at), pollAfter(since + rules.lengthMs)]) {
      if (time < at || (time !== pollAfter(at) && time >= next)) continue;
      const now = levelOf(history, level, { endpoint: 'on', isSilent: false, now: time }, rules);
      if (now === 'failing' && level !== 'failing') yield time;
      level = now;
    }
  }
}

function pollAfter(time: number): number {
  return Math.ceil((time + 1) / INTERVAL_MS) * INTERVAL_MS;
}
