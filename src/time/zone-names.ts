/** The zone that a text names: `UTC`, `local`, or a name of the IANA database in its usual spelling; undefined for others. */
export function zoneNamed(text: string): string | undefined {
  const name = text.trim();
  if (/^(UTC|Etc\/UTC)$/i.test(name)) return 'UTC';
  if (/^local$/i.test(name)) return 'local';
  // Newer platforms take offsets such as +02:00 too, which know nothing of clock changes.
  if (!/^[a-z]/i.test(name) || !isZone(name)) return undefined;
  return zoneNames().find((known) => known.toLowerCase() === name.toLowerCase()) ?? name;
}

/** The names of zones that may be given. */
export function zoneNames(): string[] {
  // Platforms list some zones by their former names only, and take both.
  const all = [...Intl.supportedValuesOf('timeZone'), ...RENAMED.filter(isZone)];
  return ['UTC', 'local', ...new Set(all.filter((name) => name !== 'UTC').sort())];
}

const RENAMED = [
  ...['Asia/Ho_Chi_Minh', 'Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Yangon'],
  ...['America/Nuuk', 'Atlantic/Faroe', 'Europe/Kyiv', 'Pacific/Chuuk', 'Pacific/Pohnpei'],
];

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
