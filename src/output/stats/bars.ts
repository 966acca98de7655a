const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * A horizontal bar of `value` where `full` fills `width` columns, without padding. Anything above zero shows: it
 * has at least the thinnest mark. In ASCII a column is `#`.
 */
export function bar(value: number, full: number, width: number, unicode: boolean): string {
  if (!(value > 0) || !(full > 0)) return '';
  const length = Math.min(1, value / full) * width;
  if (!unicode) return '#'.repeat(Math.max(1, Math.round(length)));
  const eighths = Math.max(1, Math.round(length * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** The end of a scale of rates (0 to 1) on which the highest fills much of the bar. */
export function rateScale(highest: number): number {
  return STEPS.find((step) => highest <= step) ?? 1;
}
