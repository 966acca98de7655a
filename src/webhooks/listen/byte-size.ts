import { UsageError } from '../../errors.ts';

const UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };
const LARGEST = 1024 ** 3;

/** A parser for a flag that takes a size such as `512kb`, `10mb` or plain bytes, up to 1 GiB; units are of 1024. */
export function byteSize(flag: string): (text: string) => number {
  return (text) => {
    const [, digits, unit = ''] = /^(\d{1,10})\s*([kmg]?b)?$/i.exec(text) ?? [];
    const size = Number(digits) * (UNITS[unit.toLowerCase()] as number);
    if (digits !== undefined && size >= 1 && size <= LARGEST) return size;
    throw new UsageError(`${flag}: '${text}' is not accepted: a size such as 512kb or 10mb, up to 1gb`);
  };
}
