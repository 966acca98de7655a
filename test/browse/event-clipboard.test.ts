import { expect, test } from 'vitest';
import { copyEventId } from '../../src/browse/browse.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput, pageOf } from '../support/outputs.ts';

const event = pageOf(['{"eventId":"e-1"}']);
const tmux = { TMUX: '/run/tmux/default,1,0', PATH: '/usr/bin', HOME: '/home/x' };

function context(environment: Record<string, string>, code: number | Error = 0) {
  const ran: unknown[] = [];
  const stdout = fakeOutput(80);
  const runProgram = async (...call: unknown[]) => {
    ran.push(call);
    if (code instanceof Error) throw code;
    return code;
  };
  return { ...createContext({ environment, stdout, runProgram }), ran, printed: stdout };
}

test('the id goes to the clipboard of the terminal', async () => {
  const at = context({});
  expect(await copyEventId(event, at)).toBe("sent e-1 to the terminal's clipboard");
  expect(at.printed.text).toBe('\u001b]52;c;ZS0x\u0007');
});

test('in tmux the id goes to its buffer, and tmux gets no secrets', async () => {
  const at = context({ ...tmux, HOOKTRAIL_PASSPHRASE: 'secret' });
  expect(await copyEventId(event, at)).toBe("copied e-1 to tmux's buffer");
  expect(at.ran).toEqual([[['tmux', 'set-buffer', '-w', '--', 'e-1'], tmux]]);
  expect(at.printed.text).toBe('');
});

test.each([[1], [new Error('ENOENT')]])('says that tmux did not take the id: %s', async (code) => {
  expect(await copyEventId(event, context(tmux, code))).toBe('tmux did not take e-1');
});

test('says if there is no id', async () => {
  expect(await copyEventId(pageOf(['{}']), context({}))).toBe('the event has no eventId to copy');
});
