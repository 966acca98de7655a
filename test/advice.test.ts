import { expect, test } from 'vitest';
import { type Advice, adviceText, advise, hooktrail, hooktrailOver } from '../src/advice.ts';

const profileAndStore = { profile: 'night', store: 'file' };

test.each<[Advice, string]>([
  [advise`run ${hooktrail('login')}`, 'run `hooktrail login --profile night --store file`'],
  [
    advise`run ${hooktrail('login --profile', 'nightly')}`,
    'run `hooktrail login --profile nightly --store file`',
  ],
  [advise`${hooktrail('login --store keychain')}`, '`hooktrail login --store keychain --profile night`'],
  [
    advise`${hooktrail('logout')} and ${hooktrail('events count --failed')}`,
    '`hooktrail logout --profile night` and `hooktrail events count --failed --profile night`',
  ],
  [
    advise`${hooktrail('keygen')}, \`chmod 600\`, hooktrail login`,
    '`hooktrail keygen`, `chmod 600`, hooktrail login',
  ],
  [
    advise`${hooktrail('login --help')} or ${hooktrail('help times')}`,
    '`hooktrail login --help` or `hooktrail help times`',
  ],
  ['as `hooktrail login` in a text', 'as `hooktrail login` in a text'],
])(
  'in a run with --profile night --store file, advice %# has the flags that its commands lack',
  (advice, meant) => {
    expect(adviceText(advice, profileAndStore)).toBe(meant);
  },
);

test('a run without flags adds none', () => {
  expect(adviceText(advise`run ${hooktrail('login')}`, {})).toBe('run `hooktrail login`');
});

test('advice takes other advice in, whose commands get the flags too', () => {
  const login = advise`run ${hooktrail('login')}`;
  expect(adviceText(advise`unlock it; then ${login}`, { profile: 'a b' })).toBe(
    "unlock it; then run `hooktrail login --profile 'a b'`",
  );
});

test('values are quoted for a shell', () => {
  const command = hooktrailOver('my events', 'events search --grep', "it's", '--limit', '5');
  expect(command.textFor({})).toBe("hooktrail events search --grep 'it'\\''s' --limit 5 --from 'my events'");
});

test.each(['-', '/dev/stdin', '/dev/fd/63', '/proc/self/fd/11', '/proc/812/fd/3'])(
  'a command over %s, which only this process has, begins with the pipe that has to be there again',
  (place) => {
    expect(hooktrailOver(place, 'events count').textFor({})).toBe('… | hooktrail events count --from -');
  },
);

test('a command over a named pipe names it', () => {
  expect(hooktrailOver('/run/fd/3', 'events count').textFor({})).toBe(
    'hooktrail events count --from /run/fd/3',
  );
});
