import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/errors.ts';
import type { SignInState } from '../../src/sign-in/sign-in-state.ts';
import { statusText } from '../../src/sign-in/status-text.ts';
import { plain } from '../../src/terminal/palette.ts';
import { createReporter, errorText } from '../../src/terminal/reporter.ts';
import { terminalSafe } from '../../src/terminal/terminal-text.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput } from '../support/outputs.ts';
import { startSearching } from '../support/searching.ts';

/** One of each kind: C0, DEL, C1, bidirectional. In JSON the first is written as an escape. */
const hostile = '\u001b[2J\u007f\u009b1m\u202e';
const shown = '\\u001b[2J\\u007f\\u009b1m\\u202e';

describe('control characters are inert in a pipe', () => {
  test('in an error, whose further lines cannot look like our labels', () => {
    const error = new ServiceError(`the service said ${hostile}\nnext: rm -rf`, {
      details: [`message: ${hostile}\nerror: more`],
      next: `try ${hostile}\nerror: again`,
    });
    expect(errorText(error, plain, {}, 'text')).toBe(
      `error: the service said ${shown}\n  next: rm -rf\n` +
        `  message: ${shown}\n  error: more\n` +
        `next: try ${shown}\n  error: again\n`,
    );
  });

  test('in notices, warnings and traces', async () => {
    const stderr = fakeOutput();
    const reporter = await createReporter(createContext({ stderr }), { debug: true }, 'text');
    for (const say of [reporter.say, reporter.notice, reporter.success, reporter.trace, reporter.command])
      say(hostile);
    reporter.warning(`${hostile}\nerror: no`, { kind: 'usage' });
    expect(stderr.text).toBe(`${`${shown}\n`.repeat(4)}\n$ ${shown}\nwarning: ${shown}\n  error: no\n`);
  });

  test("in tables, errors and traces of the service's answers, but not in JSON", async () => {
    await using searching = await startSearching({ events: 1 });
    const items = `{"items":[{"eventId":"a","eventType":"${hostile.slice(1)}"}],"count":1}`;
    const answer = { kind: 'status', status: 200, body: items } as const;
    const { fault } = searching.sandbox.control;
    fault('events', answer, answer);
    expect((await searching.search()).stdout).toBe(
      `eventType${' '.repeat(16)}eventId\n${shown.slice(6)}  a\n`,
    );
    expect((await searching.search('--json')).stdout).toBe(
      `[\n{"eventId":"a","eventType":"${hostile.slice(1)}"}\n]\n`,
    );
    const body = JSON.stringify({ code: 'a.b', message: hostile });
    fault('events', { kind: 'status', status: 400, body, headers: { 'X-Said': 'a\u009bb' } });
    const { stderr } = await searching.search('--debug');
    expect(stderr).toContain(`\n  message: ${shown}\n`);
    expect(stderr).toMatch(/^< x-said: a\\u009bb$/im);
    expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test('in the scopes that status prints', () => {
    const state: SignInState = {
      profile: 'default',
      signedIn: true,
      source: 'stored',
      authUrl: null,
      baseUrl: null,
      clientId: null,
      vendor: null,
      scope: `event_api ${hostile}`,
      store: 'file',
      place: null,
      expiresAt: null,
      renewable: true,
      clientAuthentication: 'secret',
      grant: 'refresh_token',
      subject: null,
      refusedAt: null,
      refused: null,
      perhapsSpentAt: null,
    };
    expect(statusText(state, null, 0, UTC)).toBe(
      'profile    default\nsigned in  yes\ntoken      of unknown lifetime, renewed when needed\n' +
        `scopes     event_api ${shown}\n`,
    );
  });
});

test('characters that terminals draw with different widths are shown by their codes', () => {
  expect(terminalSafe('a\u00adb\u3164c\u115fd\u1160e\uffa0f\u180e')).toBe(
    'a\\u00adb\\u3164c\\u115fd\\u1160e\\uffa0f\\u180e',
  );
});
