import type { Option } from 'commander';
import { UsageError } from '../errors.ts';
import { decimalNumber, duration, fileName, oneOf, wholeNumber } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import { type Refuse, secureUrl, withoutCredentials } from '../settings/setting-names.ts';
import { durationText } from '../time/lengths.ts';

/**
 * Returns a parser for a handler's URL: `https:`, or `http:` on a loopback host, as for the service's own
 * addresses. Also accepts a port of this machine, or a loopback host with a port, with or without a path.
 */
export function handlerUrl(flag: string): (text: string) => URL {
  return (text) => {
    const refuse: Refuse = (wanted, hint) => {
      throw new UsageError(`${flag}: invalid value '${withoutCredentials(text)}': must be ${wanted}`, hint);
    };
    const address = PORT.test(text) ? `http://127.0.0.1:${text}` : text.replace(LOCAL, 'http://$&');
    const url = secureUrl(address, 'a URL such as http://127.0.0.1:3000/hooks', refuse);
    if (url.hash) return refuse('a URL without a fragment');
    return url;
  };
}

const PORT = /^\d{1,5}(?=$|\/)/;
const LOCAL = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]):\d{1,5}(?=$|\/)/i;

export const FORWARD_TIMEOUT_MS = 30_000;
const SHORTEST_MS = 1_000;
const LONGEST_MS = 3_600_000;

export function forwardTimeout(): Option {
  const text = 'how long the handler may take to answer';
  const parse = duration('--forward-timeout', SHORTEST_MS, LONGEST_MS, 's');
  return new Flag('--forward-timeout <time>', text, { preset: durationText(FORWARD_TIMEOUT_MS) }, parse);
}

/** Returns the handler; undefined with `--dry-run`. Throws `UsageError` if neither is given. */
export function handlerOf(flags: {
  readonly forwardTo?: URL | undefined;
  readonly dryRun?: true;
}): URL | undefined {
  if (flags.dryRun) return undefined;
  if (flags.forwardTo !== undefined) return flags.forwardTo;
  throw new UsageError('--forward-to is missing: the handler that gets the events', {
    next: 'name the handler, or list the events with --dry-run',
  });
}

/** More than one event at once may reach the handler in another order. */
export function forwardConcurrency(): Option {
  const text = 'events forwarded at once, 1 to 64; 1 keeps their order';
  return new Flag('--concurrency <number>', text, { preset: 1 }, wholeNumber('--concurrency', 1, 64));
}

export function handOverFlag(): Option {
  return new Flag(
    '--hand-over <what>',
    'event: as a delivery carries it; record: as a search shows it',
    { preset: 'event' },
    oneOf('--hand-over', ['event', 'record']),
  );
}

export function rateFlag(): Option {
  const text = 'the maximum number of events per second';
  return new Flag('--rate <number>', text, {}, decimalNumber('--rate', 0.01, 10_000));
}

export function receivedFlag(text: string): Option {
  return new Flag('--received <file>', text, {}, fileName('--received'));
}

export function receivedFieldFlag(): Option {
  return new Flag(
    '--received-field <name>',
    'the column of the ids, or their path in JSON; found automatically if left out',
    {},
    (text) => text,
  );
}

const UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };
const LARGEST_BYTES = 1024 ** 3;

/**
 * Returns a parser for sizes such as `512kb`, `10mb` or plain bytes, up to 1 GiB. A kilobyte has 1024 bytes.
 */
export function byteSize(flag: string): (text: string) => number {
  return (text) => {
    const [, digits, unit = ''] = /^(\d{1,10})\s*([kmg]?b)?$/i.exec(text) ?? [];
    const size = Number(digits) * (UNITS[unit.toLowerCase()] as number);
    if (digits !== undefined && size >= 1 && size <= LARGEST_BYTES) return size;
    throw new UsageError(`${flag}: invalid value '${text}': must be a size such as 512kb or 10mb, up to 1gb`);
  };
}
