import { expect, test } from 'vitest';
import { copyEvent, copyEventId } from '../../src/browse/event-clipboard.ts';
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

test.each([[1], [new Error('ENOENT')]])('says that tmux did not accept the id: %s', async (code) => {
  expect(await copyEventId(event, context(tmux, code))).toBe('tmux did not accept e-1');
});

test('says if there is no id', async () => {
  expect(await copyEventId(pageOf(['{}']), context({}))).toBe('the event has no eventId to copy');
});

test('the whole event goes to the clipboard as the service wrote it', async () => {
  const at = context({});
  const item = pageOf(['{"n":9007199254740993,"eventId":"e-1"}']);
  expect(await copyEvent(item, at)).toBe("sent the event (38 bytes) to the terminal's clipboard");
  const [, sent = ''] = /^\u001b\]52;c;([^\u0007]*)\u0007$/.exec(at.printed.text) ?? [];
  expect(Buffer.from(sent, 'base64').toString()).toBe('{"n":9007199254740993,"eventId":"e-1"}');
  const inTmux = context(tmux);
  expect(await copyEvent(event, inTmux)).toBe("copied the event (17 bytes) to tmux's buffer");
  const large = pageOf([JSON.stringify({ text: 'x'.repeat(75_000) })]);
  expect(await copyEvent(large, context({}))).toBe(
    'the event has 75,011 bytes, which is too much for a clipboard: `events get` prints it',
  );
});
