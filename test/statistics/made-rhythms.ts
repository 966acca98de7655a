import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/time/lengths.ts';
import { randomOf } from '../explain/planted-causes.ts';

export const WEEK_MS = 7 * DAY_MS;
/** A Monday, midnight in UTC. */
const START_MS = Date.parse('2026-08-03T00:00:00Z');

/** Draws the times of the events of some weeks, ascending, in milliseconds since the epoch. */
export type Rhythm = (weeks: number, random: () => number) => number[];

const lengthOf = (meanMs: number, random: () => number) => -Math.log(1 - random()) * meanMs;
const hourOf = (time: number) => (time % DAY_MS) / HOUR_MS;
const isWeekend = (time: number) => Math.floor((time - START_MS) / DAY_MS) % 7 > 4;

/** By chance alone, at a rate that changes with time. */
function byChance(mostPerHour: number, shareAt: (time: number) => number = () => 1): Rhythm {
  return (weeks, random) => {
    const times: number[] = [];
    const end = START_MS + weeks * WEEK_MS;
    for (let time = START_MS; time < end; time += lengthOf(HOUR_MS / mostPerHour, random))
      if (random() < shareAt(time)) times.push(time);
    return times;
  };
}

/** In office hours; some zones are ahead of UTC. */
function office({ hoursAhead = 0, atNight = 0, onWeekends = 0 } = {}) {
  return (time: number) => {
    const local = time + hoursAhead * HOUR_MS;
    const share = hourOf(local) >= 8 && hourOf(local) < 18 ? 1 : atNight;
    return isWeekend(local) ? share * onWeekends : share;
  };
}

/** The clock is put forward in the fifth week. */
const withSummerTime = (shareAt: (time: number) => number) => (time: number) =>
  shareAt(time > START_MS + 4.3 * WEEK_MS ? time + HOUR_MS : time);

/** Several events at a time, their number by chance. */
function bursts(meanMs: number, size: number, lengthMs: number, shareAt = (_: number) => 1): Rhythm {
  return (weeks, random) => {
    const times: number[] = [];
    const end = START_MS + weeks * WEEK_MS;
    for (let time = START_MS; time < end; time += lengthOf(meanMs, random)) {
      if (random() > shareAt(time)) continue;
      const events = 1 + Math.floor(lengthOf(size, random));
      for (let event = 0; event < events; event++) times.push(time + random() * lengthMs);
    }
    return times.filter((time) => time < end).sort((a, b) => a - b);
  };
}

/** At fixed times, late by up to a length, and left out now and then. */
function job(everyMs: number, lateMs: number, size: number, { onWeekends = true, missed = 0 } = {}): Rhythm {
  return (weeks, random) => {
    const times: number[] = [];
    for (let due = START_MS + 3 * HOUR_MS; due < START_MS + weeks * WEEK_MS; due += everyMs) {
      if ((!onWeekends && isWeekend(due)) || random() < missed) continue;
      const begin = due + random() * lateMs;
      for (let event = 0; event < size; event++) times.push(begin + event * 1000);
    }
    return times.sort((a, b) => a - b);
  };
}

/** A sender that is on for a while and off for a while. */
function onAndOff(perHour: number, onMs: number, offMs: number): Rhythm {
  return (weeks, random) => {
    const times: number[] = [];
    const last = START_MS + weeks * WEEK_MS;
    for (let time = START_MS; time < last; time += lengthOf(offMs, random)) {
      const end = Math.min(last, time + lengthOf(onMs, random));
      for (; time < end; time += lengthOf(HOUR_MS / perHour, random)) times.push(time);
    }
    return times;
  };
}

export const RHYTHMS: Readonly<Record<string, Rhythm>> = {
  'by chance, one every 40 minutes': byChance(1.5),
  'by chance, 6 an hour': byChance(6),
  'by chance, 30 an hour': byChance(30),
  'by chance, one in 4 hours': byChance(0.25),
  'by chance, one a day': byChance(1 / 24),
  'office hours, 6 an hour': byChance(6, office()),
  'office hours nine zones ahead, 2 an hour': byChance(2, office({ hoursAhead: 9 })),
  'office hours, 20 an hour, fewer at night and on weekends': byChance(
    20,
    office({ hoursAhead: -5, atNight: 0.2, onWeekends: 0.3 }),
  ),
  'office hours, 3 in 5 hours': byChance(0.6, office({ atNight: 0.02, onWeekends: 0.1 })),
  'office hours, 20 an hour, summer time': byChance(20, withSummerTime(office())),
  'a job each night': job(DAY_MS, 20 * MINUTE_MS, 1),
  'a job each night of weekdays, 40 events': job(DAY_MS, 20 * MINUTE_MS, 40, { onWeekends: false }),
  'a job each night, one in 20 left out': job(DAY_MS, HOUR_MS, 5, { missed: 0.05 }),
  'a job each hour': job(HOUR_MS, 5 * MINUTE_MS, 3),
  'a job each week': job(WEEK_MS, 2 * HOUR_MS, 50),
  'bursts of 3, one an hour': bursts(HOUR_MS, 3, MINUTE_MS),
  'bursts of 5 in office hours': bursts(30 * MINUTE_MS, 5, MINUTE_MS, office({ atNight: 0.05 })),
  'bursts of 20, one in 3 hours': bursts(3 * HOUR_MS, 20, 10 * MINUTE_MS),
  'bursts of 50, one a day': bursts(DAY_MS, 50, HOUR_MS),
  'on for 6 hours, off for 6': onAndOff(4, 6 * HOUR_MS, 6 * HOUR_MS),
  'on for 2 days, off for one': onAndOff(4, 2 * DAY_MS, DAY_MS),
  'on for half an hour, off for 4': onAndOff(30, 30 * MINUTE_MS, 4 * HOUR_MS),
};

const LOOK_MS = 5 * MINUTE_MS;
/** No silence is said before. */
const SHORTEST_MS = 2 * HOUR_MS;
/** Of history, before which nothing is said. */
const MIN_HISTORY_WEEKS = 2;

type SilenceOfTimes = (times: readonly number[]) => (now: number) => number | undefined;

/** The number of gaps of a rhythm that are taken for a silence by somebody who looks every five minutes. */
export function falseAlarms(times: readonly number[], silenceAfter: SilenceOfTimes): number {
  let alarms = 0;
  const begin = (times[0] ?? 0) + MIN_HISTORY_WEEKS * WEEK_MS;
  for (let next = 1; next < times.length; next++) {
    const [last, end] = [times[next - 1] as number, times[next] as number];
    if (last < begin || end - last < SHORTEST_MS) continue;
    if (firstAlarm(times.slice(0, next), end, silenceAfter) !== undefined) alarms++;
  }
  return alarms;
}

/** The first look after the last of some events that takes the time since for a silence. */
export function firstAlarm(
  times: readonly number[],
  end: number,
  silenceAfter: SilenceOfTimes,
): number | undefined {
  const last = times.at(-1) as number;
  const look = silenceAfter(times);
  for (let now = Math.ceil((last + SHORTEST_MS) / LOOK_MS) * LOOK_MS; now < end; now += LOOK_MS)
    if (look(now) !== undefined) return now;
  return undefined;
}

/** A generator for each subscription of each rhythm. */
export function drawsOf(name: string, subscription: number): () => number {
  return randomOf(
    [...name].reduce((hash, letter) => Math.imul(hash, 31) + (letter.codePointAt(0) as number), subscription),
  );
}
