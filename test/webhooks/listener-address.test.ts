import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createHandler } from '../../src/webhooks/forward.ts';
import {
  announceListener,
  findListener,
  forwardToListener,
  isJournalWanted,
  type ListenerAddress,
  recoveryDoor,
  wantJournal,
} from '../../src/webhooks/listener-address.ts';
import { createContext } from '../support/context.ts';
import { useJournalFolder } from '../support/journal.ts';

const place = useJournalFolder();
const { machine } = createContext();
const EVENT = { body: Buffer.from('{}') };
const SECRET = 'a secret';

/** Returns the answer that `recover` accepts from a listener that behaves as `answer` says. */
async function asked(answer: (request: http.IncomingMessage) => Record<string, string>) {
  const server = http.createServer((request, response) => {
    request.resume();
    response.writeHead(200, answer(request)).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const client = createHandler(new URL(url), 5_000, { environment: {} });
  try {
    return await forwardToListener(client, { url, forwardTo: null, secret: SECRET }, EVENT);
  } finally {
    await client.close();
    server.close();
  }
}

test('the address is beside the journal, readable by its user only, and can be withdrawn', async () => {
  const address = { url: 'http://127.0.0.1:1/', forwardTo: 'http://127.0.0.1:2/?secret' };
  const { secret, withdraw } = await announceListener(place.file, address);
  expect((await stat(`${place.file}.listener`)).mode & 0o777).toBe(0o600);
  expect(findListener(place.file, machine)).toEqual({ ...address, secret });
  await withdraw();
  expect(findListener(place.file, machine)).toBeUndefined();
});

test('an address that others could have written, or that is a link, is not trusted', async () => {
  const file = `${place.file}.listener`;
  const address: ListenerAddress = { url: 'http://127.0.0.1:1/', forwardTo: null, secret: SECRET };
  await writeFile(file, JSON.stringify(address), { mode: 0o600 });
  expect(findListener(place.file, machine)).toEqual(address);
  await chmod(file, 0o606);
  expect(findListener(place.file, machine)).toBeUndefined();
  await chmod(file, 0o600);
  expect(findListener(place.file, { ...machine, userId: machine.userId + 1 })).toBeUndefined();
  const other = path.join(place.folder, 'other.journal');
  await symlink(file, `${other}.listener`);
  expect(findListener(other, machine)).toBeUndefined();
  for (const text of ['', 'x', 'null', '{"url":"no url","secret":"x"}', '{"url":"http://127.0.0.1:1/"}']) {
    await writeFile(file, text);
    expect(findListener(place.file, machine)).toBeUndefined();
  }
  expect(await readFile(file, 'utf8')).toBe('{"url":"http://127.0.0.1:1/"}');
});

test('only an answer that proves the secret for this request is accepted', async () => {
  const door = recoveryDoor(SECRET);
  const right = door.seal('other', { outcome: 'accepted' });
  expect(
    await asked((request) => door.seal(door.admitted(request.headers) ?? '', { outcome: 'accepted' })),
  ).toEqual({
    outcome: 'accepted',
  });
  expect(await asked(() => ({}))).toBeUndefined();
  expect(await asked(() => right)).toBeUndefined();
  expect(await asked(() => ({ 'hooktrail-answer': 'x' }))).toBeUndefined();
  const stranger = recoveryDoor('another secret');
  expect(
    await asked((request) => stranger.seal(door.admitted(request.headers) ?? '', { outcome: 'accepted' })),
  ).toBeUndefined();
});

test('only a request that proves the secret is admitted', () => {
  const door = recoveryDoor(SECRET);
  for (const question of [undefined, '', '.', 'nonce', 'nonce.proof', ['a', 'b']]) {
    expect(door.admitted({ 'hooktrail-recovery': question })).toBeUndefined();
  }
});

test('requesting a journal follows no link, and can be withdrawn', async () => {
  const target = path.join(place.folder, 'target');
  await writeFile(target, 'kept');
  await symlink(target, `${place.file}.wanted`);
  await (await wantJournal(place.file))();
  expect(await readFile(target, 'utf8')).toBe('kept');
  const withdraw = await wantJournal(place.file);
  expect(isJournalWanted(place.file)).toBe(true);
  await withdraw();
  expect(isJournalWanted(place.file)).toBe(false);
});
