import { silenceAfter } from '../../src/statistics/rhythm.ts';
import { DAY_MS, HOUR_MS } from '../../src/time/lengths.ts';
import {
  drawsOf,
  falseAlarms,
  firstAlarm,
  RHYTHMS,
  type Rhythm,
  WEEK_MS,
} from '../statistics/made-rhythms.ts';

const SUBSCRIPTIONS = 120;
const WEEKS = 8;
const HISTORY_WEEKS = 2;
const LONGEST_SILENCE_MS = 14 * DAY_MS;

/** Prints how often a made rhythm is taken for a silence, and how soon a real silence is said. */
export function benchSilence(): void {
  let [alarms, weeks] = [0, 0];
  for (const [name, rhythm] of Object.entries(RHYTHMS)) {
    const wrong = alarmsOf(name, rhythm);
    alarms += wrong;
    weeks += SUBSCRIPTIONS * (WEEKS - HISTORY_WEEKS);
    const hours = delaysOf(name, rhythm);
    const median = hours[hours.length >> 1] as number;
    const said = Number.isFinite(median) ? `after ${median.toFixed(1)} h` : 'not within 14 days';
    console.log(`${name}: ${wrong} false alarms; half of the real silences are said ${said}`);
  }
  console.log(
    `${((1000 * alarms) / weeks).toFixed(2)} false alarms in 1,000 subscription-weeks (${alarms} in ${weeks})`,
  );
}

function alarmsOf(name: string, rhythm: Rhythm): number {
  let alarms = 0;
  for (let subscription = 0; subscription < SUBSCRIPTIONS; subscription++)
    alarms += falseAlarms(rhythm(WEEKS, drawsOf(name, subscription)), silenceAfter);
  return alarms;
}

/** The hours until a silence that begins anywhere in the fifth week is said, ascending. */
function delaysOf(name: string, rhythm: Rhythm): number[] {
  const hours = Array.from({ length: SUBSCRIPTIONS }, (_, subscription) => {
    const random = drawsOf(name, subscription);
    const times = rhythm(WEEKS, random);
    const begin = (times[0] as number) + (4 + random()) * WEEK_MS;
    const before = times.filter((time) => time < begin);
    const last = before.at(-1) as number;
    const alarm = firstAlarm(before, last + LONGEST_SILENCE_MS, silenceAfter);
    return alarm === undefined ? Number.POSITIVE_INFINITY : (alarm - last) / HOUR_MS;
  });
  return hours.sort((a, b) => a - b);
}
