import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import type { Machine } from '../../src/context.ts';
import type { Journal } from '../../src/webhooks/journal.ts';
import { askListener, type ListenerReply, openListenerSocket } from '../../src/webhooks/local-socket.ts';
import { thisMachine } from '../support/context.ts';
import { useJournalFolder } from '../support/journal.ts';

const place = useJournalFolder();
const signal = new AbortController().signal;
const HANDLER = 'http://127.0.0.1:3000/';
const DESCRIPTION: ListenerReply = { forwardTo: HANDLER, forwardTimeout: 1 };
let machine: Machine;

beforeEach(async () => {
  const shared = path.join(place.folder, 'tmp');
  await mkdir(shared);
  await chmod(shared, 0o1777);
  machine = { ...thisMachine(), userHome: place.folder, sharedFolder: shared };
});

const take = async () => ({ outcome: 'accepted' }) as const;
const answered = (journal: Journal, accept: Parameters<typeof openListenerSocket>[3] = take) =>
  openListenerSocket(journal, machine, DESCRIPTION, accept);
const ask = (question: { event?: string; forwardTo?: string } = {}, as = machine, file = place.file) =>
  askListener(file, as, question, { milliseconds: 5_000, signal });

test('a listener describes itself, takes events, and is gone when it has closed', async () => {
  const journal = await place.open();
  expect(await ask()).toBeUndefined();
  const events: string[] = [];
  const close = await answered(journal, async (event) => {
    events.push(event.toString());
    return { outcome: 'accepted' };
  });
  expect(await ask()).toEqual(DESCRIPTION);
  const event = Buffer.from('{"eventId": "a\u{1f600}"}\n');
  const question = { event: event.toString('base64'), forwardTo: HANDLER };
  expect(await ask(question)).toEqual({ ...DESCRIPTION, outcome: 'accepted' });
  // An event for another handler is not taken.
  expect(await ask({ ...question, forwardTo: 'http://127.0.0.1:3001/' })).toBeUndefined();
  expect(events).toEqual([event.toString()]);
  await close();
  expect(await ask()).toBeUndefined();
  expect(await readdir(path.join(place.folder, '.hooktrail', 'sockets'))).toEqual([]);
});

test('the socket lies in a folder that only its user can enter, and carries the event and nothing else', async () => {
  const folder = path.join(place.folder, '.hooktrail', 'sockets');
  const name = await socketName();
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  let heard = '';
  const server = createServer(async (request, response) => {
    heard = `${JSON.stringify(request.rawHeaders)} ${await text(request)}`;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(path.join(folder, name), resolve));
  await ask({ event: 'e30=', forwardTo: HANDLER });
  const { dev, ino } = await stat(place.file);
  const body = `{"journal":"${dev}/${ino}","event":"e30=","forwardTo":"${HANDLER}"}`;
  const headers = ['Host', 'localhost', 'Connection', 'close', 'Content-Length', String(body.length)];
  expect(heard).toBe(`${JSON.stringify(headers)} ${body}`);
  server.close();
});

/** The name that a listener with the test's journal gives to its socket. */
async function socketName(): Promise<string> {
  const journal = await place.open();
  const close = await answered(journal);
  const [name = ''] = await readdir(path.join(place.folder, '.hooktrail', 'sockets'));
  await close();
  await place.close(journal);
  return name;
}

test.each([
  ['that others can enter', (folder: string) => chmod(folder, 0o711)],
  [
    'below one that others can write to',
    (folder: string) => chmod(path.dirname(path.dirname(folder)), 0o777),
  ],
  [
    'behind a link',
    async (folder: string) => {
      await rm(folder, { recursive: true });
      await mkdir(`${folder}-other`, { mode: 0o700 });
      await symlink(`${folder}-other`, folder);
    },
  ],
])('a folder %s is not used: the other place is', async (_name, meddle) => {
  const home = path.join(place.folder, 'home');
  await mkdir(home, { mode: 0o700 });
  machine = { ...machine, userHome: home };
  const journal = await place.open();
  await (await answered(journal))();
  await meddle(path.join(home, '.hooktrail', 'sockets'));
  const close = await answered(journal);
  expect(await ask()).toEqual(DESCRIPTION);
  const other = path.join(machine.sharedFolder, `hooktrail-sockets-${machine.userId}`);
  expect(await readdir(other)).toHaveLength(1);
  await chmod(other, 0o755);
  expect(await ask()).toBeUndefined();
  await close();
});

test('a home whose path is too long for a socket is not used', async () => {
  machine = { ...machine, userHome: path.join(os.tmpdir(), 'h'.repeat(80)) };
  const close = await answered(await place.open());
  expect(await ask()).toEqual(DESCRIPTION);
  await close();
});

test('a socket that a killed listener left is replaced, and another file of that path is not answered for', async () => {
  const name = await socketName();
  const file = path.join(place.folder, '.hooktrail', 'sockets', name);
  await writeFile(file, 'left');
  const journal = await place.open();
  const close = await answered(journal);
  expect(await ask()).toEqual(DESCRIPTION);
  // The same path in another container is another file.
  await rm(place.file);
  await writeFile(place.file, '');
  expect(await ask()).toBeUndefined();
  await close();
});

test('what is no question is not answered, and harms nobody', async () => {
  const name = await socketName();
  const journal = await place.open();
  const close = await answered(journal);
  for (const text of [
    '',
    'x\n',
    ...['', 'x', '{}', '[]', 'null', '{"journal":1}', '{"event":"e30="}'].map(posted),
    'x'.repeat(100_000),
  ]) {
    const peer = connect(path.join(place.folder, '.hooktrail', 'sockets', name));
    peer.on('error', () => undefined).resume();
    const closed = new Promise((resolve) => peer.once('close', resolve));
    peer.end(text);
    await closed;
  }
  expect(await ask()).toEqual(DESCRIPTION);
  await close();
});

test.each(['', 'POST / HTTP/1.1\r\n', posted('{"event":').slice(0, -1)])(
  'the end of a listener does not wait for a question that does not come: %j',
  async (text) => {
    const name = await socketName();
    const close = await answered(await place.open());
    const peer = connect(path.join(place.folder, '.hooktrail', 'sockets', name));
    const closed = new Promise((resolve) => peer.once('close', resolve));
    peer.on('error', () => undefined).write(text);
    expect(await ask()).toEqual(DESCRIPTION);
    await close();
    await closed;
  },
);

function posted(body: string): string {
  return `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

test('a listener that never answers is given up in time', async () => {
  const journal = await place.open();
  await answered(journal, () => new Promise(() => undefined));
  const question = { event: 'e30=', forwardTo: HANDLER };
  const begun = askListener(place.file, machine, question, { milliseconds: 200, signal });
  expect(await begun).toBeUndefined();
});
