/** Formats a number with thousands separators. */
export function grouped(number: number): string {
  return number.toLocaleString('en-US');
}

/** Formats a share (0 to 1) as a percentage. Only exact values are shown as 0 % or 100 %. */
export function percent(share: number): string {
  const value = share * 100;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.1) return '<0.1 %';
  if (value > 99.9) return '>99.9 %';
  return `${value.toFixed(1)} %`;
}
