/** A number of things, its thousands apart. */
export function grouped(number: number): string {
  return number.toLocaleString('en-US');
}

/** A share as per cent, with as many digits as tell it from none and from all. */
export function percent(share: number): string {
  const value = share * 100;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.1) return '<0.1 %';
  if (value > 99.9) return '>99.9 %';
  return `${value.toFixed(1)} %`;
}
