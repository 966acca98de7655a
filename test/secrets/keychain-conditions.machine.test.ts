import { connect, createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { keytarApart } from '../../src/child-programs.ts';
import { openKeychain } from '../../src/secrets/keychain.ts';
import { createContext, memoryKeychain } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { type Bus, hasBus, hasKeyring, startBus } from '../support/machine/keyring.ts';

const linux = (environment: Record<string, string>) => {
  const plain = createContext({ environment });
  return { ...plain, machine: { ...plain.machine, platform: 'linux' as const } };
};
const elsewhere = (parts: Parameters<typeof createContext>[0]) => {
  const plain = createContext(parts);
  return { ...plain, machine: { ...plain.machine, platform: 'win32' as const } };
};
const keytarOn = (bus: Bus) => keytarApart(process.execPath, { ...process.env, ...bus.env });

async function startUnlocked() {
  const bus = await startBus();
  await bus.startKeyring('pw');
  return bus;
}
/** Matches advice that holds these words. */
const advisingTo = (words: string) => expect.toSatisfy((next) => String(next).includes(words), words);
const next = advisingTo('`hooktrail login --store file`');

describe.skipIf(process.platform !== 'linux')('on Linux, before the native library is called', () => {
  test('no session bus', async () => {
    await expect(openKeychain(linux({}))).rejects.toMatchObject({ condition: 'no-bus', exitCode: 2, next });
    const gone = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' };
    await expect(openKeychain(linux(gone))).rejects.toMatchObject({ condition: 'no-bus', next });
  });

  test('a bus that does not answer', async () => {
    await using home = await createHome();
    const socket = path.join(home.folder, 'bus');
    const mute = createServer(() => undefined).listen(socket);
    await expect(
      openKeychain(linux({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}` }), 300),
    ).rejects.toMatchObject({
      condition: 'mute',
      details: ['the D-Bus session bus does not answer'],
    });
    mute.close();
  });

  test('a bus that refuses the user', async () => {
    await using home = await createHome();
    const socket = path.join(home.folder, 'bus');
    const refusing = createServer((client) =>
      client.once('data', () => client.end('REJECTED ANONYMOUS\r\n')),
    ).listen(socket);
    await expect(
      openKeychain(linux({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}` })),
    ).rejects.toMatchObject({
      condition: 'refused',
      details: ['D-Bus: REJECTED ANONYMOUS'],
    });
    refusing.close();
  });

  test.skipIf(!hasBus)('no Secret Service on the bus', async () => {
    await using bus = await startBus();
    await expect(openKeychain(linux(bus.env))).rejects.toMatchObject({
      condition: 'no-service',
      exitCode: 2,
      next,
    });
  });

  test.skipIf(!hasBus)('a bus found by XDG_RUNTIME_DIR', async () => {
    await using bus = await startBus();
    const { XDG_RUNTIME_DIR } = bus.env;
    await expect(openKeychain(linux({ XDG_RUNTIME_DIR }))).rejects.toMatchObject({ condition: 'no-service' });
  });
});

describe.skipIf(!hasKeyring)('with gnome-keyring, before the native library is called', () => {
  const bus = forEachTest(startUnlocked);

  test('a bus in the abstract namespace, which Node may not reach, is left to the native library', async () => {
    await using bus = await startBus('unix:abstract=');
    expect(bus.env['DBUS_SESSION_BUS_ADDRESS']).toMatch(/^unix:abstract=/);
    const reached = await openKeychain(linux({ ...bus.env })).then(
      () => 'left to the library',
      (error) => error.condition,
    );
    expect(['left to the library', 'no-service']).toContain(reached);
  });

  test('a Secret Service without a default keyring', async () => {
    await using bus = await startBus();
    await bus.startKeyring();
    await expect(openKeychain(linux(bus.env))).rejects.toMatchObject({ condition: 'no-keyring', next });
  });

  test('a locked keyring, even if it holds none of our secrets', async () => {
    await bus.stopKeyring();
    await bus.startKeyring();
    await expect(openKeychain(linux(bus.env))).rejects.toMatchObject({
      condition: 'locked',
      holdsNothing: true,
      next,
    });
  });

  test('no libsecret', async () => {
    const loadKeychain = () => Promise.reject(new Error('Failed to load keytar native addon'));
    await expect(openKeychain({ ...linux(bus.env), loadKeychain })).rejects.toMatchObject({
      condition: 'no-library',
      next: advisingTo('libsecret'),
    });
  });

  test('a refusal that does not last is not an error, one that lasts is', async () => {
    for (const refusals of [1, 2]) {
      const keychain = memoryKeychain();
      let calls = 0;
      keychain.get = async () => {
        if (++calls <= refusals) throw new Error('Client public key size is invalid');
        return 'a secret';
      };
      const opened = await openKeychain({ ...linux(bus.env), loadKeychain: async () => keychain });
      const reading = expect(opened.get('an account'));
      if (refusals === 1) await reading.resolves.toBe('a secret');
      else await reading.rejects.toMatchObject({ condition: 'refused' });
    }
  });

  test('an item that is there and gives nothing, as in one of 100 sessions with KWallet, is read in another session, where later calls stay', async () => {
    await keytarOn(bus).setPassword('hooktrail', 'there', 'secret');
    const loaded: (string | undefined)[] = [];
    const written: (string | undefined)[] = [];
    const open = async (answers: (string | null)[]) =>
      await openKeychain({
        ...linux(bus.env),
        loadKeychain: async (apart) => {
          loaded.push(apart);
          const get = async () => answers.shift() ?? null;
          const set = async () => void written.push(apart);
          return { ...memoryKeychain(), get, set };
        },
      });
    const keychain = await open([null, 'secret']);
    expect(await keychain.get('there')).toBe('secret');
    // The first session would store something else.
    await keychain.set('there', 'next');
    expect(written).toEqual(['apart']);
    expect(await (await open([null, null, 'secret'])).get('there')).toBe('secret');
    await expect((await open([])).get('there')).rejects.toMatchObject({
      condition: 'unreadable',
      message: 'the OS keychain has the item, but what it gave cannot be decrypted',
      next: advisingTo('`hooktrail logout` and `hooktrail login`'),
    });
    // An item that somebody deleted is not asked for again: that person is not signed in.
    loaded.length = 0;
    expect(await (await open([])).get('not there')).toBeNull();
    expect(loaded).toEqual([undefined]);
  });

  test('items are listed without the native library, which reads all of them', async () => {
    const keytar = keytarOn(bus);
    for (const account of ['default/hash/sign-in', 'ü/hash/sign-in'])
      await keytar.setPassword('hooktrail', account, 'secret');
    await keytar.setPassword('another program', 'account', 'secret');
    const accounts = () => Promise.reject(new Error('the process would have ended'));
    const loadKeychain = async () => ({ ...memoryKeychain(), accounts });
    const keychain = await openKeychain({ ...linux(bus.env), loadKeychain });
    expect((await keychain.accounts()).sort()).toEqual(['default/hash/sign-in', 'ü/hash/sign-in']);
  });

  test('the native library answers from a process of its own', async () => {
    const keytar = keytarOn(bus);
    const secret = 'a "secret"\n\u2028 of two lines';
    await keytar.setPassword('hooktrail', 'account', secret);
    expect(await keytar.getPassword('hooktrail', 'account')).toBe(secret);
    expect(await keytar.findCredentials('hooktrail')).toEqual([{ account: 'account', password: secret }]);
    expect(await keytar.deletePassword('hooktrail', 'account')).toBe(true);
    expect(await keytar.getPassword('hooktrail', 'account')).toBeNull();
    const without = keytarApart(process.execPath, {
      PATH: process.env['PATH'],
      DBUS_SESSION_BUS_ADDRESS: 'x',
    });
    await expect(without.getPassword('hooktrail', 'account')).rejects.toThrow(/address/i);
    const silent = keytarApart('/bin/true', {});
    await expect(silent.getPassword('hooktrail', 'account')).rejects.toThrow(
      'the native library ended without an answer',
    );
  });

  test('a Secret Service that does not answer', async () => {
    bus.suspendKeyring();
    await expect(openKeychain(linux(bus.env), 300)).rejects.toMatchObject({
      condition: 'mute',
      exitCode: 2,
      next,
    });
  });

  test('one that holds our secrets is asked for those, and never for an alias', async () => {
    await keytarOn(bus).setPassword('hooktrail', 'account', 'secret');
    await using home = await createHome();
    let asked = '';
    const listening = path.join(home.folder, 'bus');
    const between = createServer((client) => {
      const onward = connect(/path=([^,]*)/.exec(bus.env.DBUS_SESSION_BUS_ADDRESS)?.[1] as string);
      client.on('data', (chunk) => {
        asked += chunk.toString('latin1');
      });
      client.pipe(onward).pipe(client);
      for (const side of [client, onward]) side.on('error', () => undefined);
    }).listen(listening);
    await openKeychain(linux({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${listening}` }));
    between.close();
    expect(asked).toContain('SearchItems');
    expect(asked).not.toMatch(/ReadAlias|aliases|Locked/);
  });

  test('an unlocked one is always found usable', async () => {
    for (let i = 0; i < 20; i++) {
      const keychain = await openKeychain(linux(bus.env));
      expect(await keychain.get('an account')).toBeNull();
    }
  });
});

test('a missing package, and a library that cannot be loaded', async () => {
  const failing = (error: Error) => elsewhere({ loadKeychain: () => Promise.reject(error) });
  const missing = Object.assign(new Error("Cannot find package 'keytar'"), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(openKeychain(failing(missing))).rejects.toMatchObject({
    condition: 'no-package',
    exitCode: 2,
    next,
  });
});

test('a native call that never returns is given up, and no thread spent on another until it does', async () => {
  const called: string[] = [];
  let answer: (secret: string) => void = () => undefined;
  const answered = new Promise<string>((resolve) => {
    answer = resolve;
  });
  const hanging = {
    ...memoryKeychain(),
    get: (account: string) => {
      called.push(account);
      return answered;
    },
  };
  const keychain = await openKeychain(elsewhere({ loadKeychain: async () => hanging }), 300);
  const mute = { condition: 'mute', message: 'the OS keychain does not answer' };
  await expect(keychain.get('x')).rejects.toMatchObject(mute);
  await expect(keychain.get('y')).rejects.toMatchObject(mute);
  expect(called).toEqual(['x']);
  answer('a secret');
  await answered;
  expect(await keychain.get('z')).toBe('a secret');
});

test.each([
  ['Cannot create an item in a locked collection', 'locked'],
  ['User interaction is not allowed.', 'locked'],
  ['Cannot autolaunch D-Bus without X11 $DISPLAY', 'no-bus'],
  ['The name org.freedesktop.secrets was not provided by any .service files', 'no-service'],
  ['User canceled the operation.', 'refused'],
])('the native library says "%s": %s', async (message, condition) => {
  const failing = { ...memoryKeychain(), get: () => Promise.reject(new Error(message)) };
  const keychain = await openKeychain(elsewhere({ loadKeychain: async () => failing }));
  await expect(keychain.get('x')).rejects.toMatchObject({ condition, details: [message], next });
});
