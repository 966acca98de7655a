import { describe, expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { accepted, startListening } from '../../support/listening.ts';
import { HARMLESS, type Oddity, REFUSED, WRONG_BODIES } from '../../support/odd-answers.ts';
import { textInShape } from '../../support/shape.ts';

const EVENT = textInShape({ eventId: '11111111-1111-4111-8111-111111111111', eventType: 'order.created' });

/** The answer to a delivery that goes on to a handler which answers so, and how often that got it. */
async function delivered(odd: Oddity, status = 200) {
  await using handler = await startHandler();
  Object.assign(handler, { odd, answer: () => status });
  await using at = await startListening('--forward-to', handler.url, '--forward-timeout', '20s');
  const answer = await at.send(EVENT);
  at.program.kill('SIGTERM');
  const { stderr } = await at.program.finished;
  return { answer, stderr, received: handler.received.length };
}

describe('the status in the head of an answer decides, whatever becomes of its body', () => {
  test.each(Object.entries({ ...HARMLESS, ...WRONG_BODIES }))('%s', async (_, odd) => {
    const { answer, received } = await delivered(odd);
    expect([answer, received]).toEqual([expect.objectContaining(accepted), 1]);
  });

  test('a refusal is shown with what came of its body', async () => {
    const { answer, stderr } = await delivered(WRONG_BODIES['a body that is cut off'], 422);
    expect(answer.status).toBe(502);
    expect(stderr).toContain('the handler answered 422: thanks');
  });
});

test.each([
  ['https://user:pw@hooks.example/in/%1b?key=1#x', 'https://hooks.example/in/%1b'],
  ['/in/', 'HANDLER/in/'],
])('a redirect to %s is shown, and is not followed', async (location, shown) => {
  await using handler = await startHandler();
  const odd: Oddity = () => ({
    bytes: Buffer.from(`HTTP/1.1 308 Moved\r\nLocation: ${location}\r\nContent-Length: 2\r\n\r\nhi`),
  });
  Object.assign(handler, { odd });
  await using at = await startListening('--forward-to', handler.url);
  expect((await at.send(EVENT)).status).toBe(502);
  at.program.kill('SIGTERM');
  const target = shown.replace('HANDLER', handler.origin);
  expect((await at.program.finished).stderr).toContain(
    `the handler answered 308 with Location ${target}: redirects are not followed\n`,
  );
  expect(handler.received).toHaveLength(1);
});

test.each(Object.entries(REFUSED))('%s is named as the reason', async (_, [odd, reason]) => {
  const { answer, stderr } = await delivered(odd);
  expect(answer.status).toBe(502);
  expect(stderr).toContain(`does not answer with valid HTTP (${reason})`);
});
