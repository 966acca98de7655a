import { expect, test } from 'vitest';
import { completeCommands } from '../../src/settings/shell-words.ts';

test.each([
  ['run `hooktrail login`', 'run `hooktrail login --profile night --store file`'],
  ['run `hooktrail login --profile nightly`', 'run `hooktrail login --profile nightly --store file`'],
  ['`hooktrail login --store keychain`', '`hooktrail login --store keychain --profile night`'],
  [
    '`hooktrail logout` and `hooktrail events count --failed`',
    '`hooktrail logout --profile night` and `hooktrail events count --failed --profile night`',
  ],
  ['`hooktrail keygen`, `chmod 600`, hooktrail login', '`hooktrail keygen`, `chmod 600`, hooktrail login'],
])('in a run with --profile night --store file, %s means %s', (text, meant) => {
  expect(completeCommands(text, { profile: 'night', store: 'file' })).toBe(meant);
  expect(completeCommands(text, {})).toBe(text);
});
