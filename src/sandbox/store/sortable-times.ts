const UTC = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?Z)?$/;

/**
 * Reads a UTC ISO 8601 date or date-time (service description, part 4) with any number of fractional digits. The result
 * has the form that the service writes, `2026-11-01T08:15:30.1234567`, with more digits only where they are not zero and
 * without the `Z`, so that the texts compare as the times do. Returns undefined if the day or time does not exist.
 */
export function sortableTime(text: string): string | undefined {
  const parts = UTC.exec(text);
  if (!parts) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists =
    date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!exists || hour > 23 || minute > 59 || second > 59) return undefined;
  const fraction = (parts[7] ?? '').padEnd(7, '0');
  const rest = fraction.slice(7).replace(/0+$/, '');
  const time = [parts[4], parts[5], parts[6]].map((part) => part ?? '00').join(':');
  return `${text.slice(0, 10)}T${time}.${fraction.slice(0, 7)}${rest}`;
}

/** `2026-11-01T08:15:30.1234567Z`; `ticks` are the 100 ns within the millisecond, 0 to 9999. */
export function createdOnText(ms: number, ticks: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}${String(ticks).padStart(4, '0')}Z`;
}
