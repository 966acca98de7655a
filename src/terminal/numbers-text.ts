/** Formats a number with thousands separators. */
export function grouped(number: number): string {
  return number.toLocaleString('en-US');
}

/** `1 event`, `1,200 events`. */
export function eventsText(count: number): string {
  return `${grouped(count)} ${count === 1 ? 'event' : 'events'}`;
}

/** Formats a share (0 to 1) as a percentage. Only exact values are shown as 0 % or 100 %. */
export function percent(share: number): string {
  const value = share * 100;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.1) return '<0.1 %';
  if (value > 99.9) return '>99.9 %';
  return `${value.toFixed(1)} %`;
}

const UNITS: readonly (readonly [name: string, milliseconds: number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** A span of time as people say it, in the largest unit of which there are two: `29 minutes`, `90 seconds`. */
export function durationWords(milliseconds: number): string {
  const [name, size] = UNITS.find(([, size]) => milliseconds / size >= 2) ?? ['second', 1000];
  const number = Math.round(milliseconds / size);
  return `${number} ${name}${number === 1 ? '' : 's'}`;
}
