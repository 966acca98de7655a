import type { Option } from 'commander';
import { oneOf } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import type { Baseline } from './baseline.ts';

const BASELINE_SYNONYMS: Readonly<Record<string, Baseline>> = {
  ...{ yesterday: '1d', day: '1d', '24h': '1d' },
  ...{ 'last week': '7d', 'last-week': '7d', lastweek: '7d', week: '7d', '1w': '7d', '168h': '7d' },
  ...{ before: 'previous', last: 'previous' },
};

export function baselineFlag(): Option {
  return new Flag(
    '--baseline <time>',
    'compare with an earlier time: previous (as long, just before), 1d (a day earlier) or 7d',
    {},
    oneOf<Baseline>('--baseline', ['previous', '1d', '7d'], BASELINE_SYNONYMS),
  );
}
