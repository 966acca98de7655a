import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { RefusalNote } from '../../src/sign-in/refusal-note.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

const home = forEachTest(createHome);
const binding = { profile: 'default', authUrl: '', clientId: '', serviceOrigin: '' };
const noteOf = (changes = {}) =>
  new RefusalNote({ ...binding, ...changes }, createContext({ environment: home.env }));

const grant = 'client_credentials' as const;
const SIGN_INS = [
  { refreshToken: 'one' },
  { refreshToken: 'another' },
  { grant },
  { grant, access: { token: 'one' } },
  { grant, access: { token: 'another' } },
];

test('a refusal is of one sign-in, and of none that follows it', async () => {
  const details = ['the provider says no'];
  for (const refused of SIGN_INS) {
    await noteOf().write(refused, { of: 'client', at: 7, details });
    for (const stored of SIGN_INS) {
      const found = noteOf().read(stored);
      if (stored === refused) expect(found).toMatchObject({ of: 'client', at: 7, details });
      else expect(found).toBe(undefined);
    }
    expect([noteOf().exists, noteOf({ profile: 'other' }).exists]).toEqual([true, false]);
  }
  expect(noteOf().read({})).toBe(undefined);
  noteOf().remove();
  expect([noteOf().exists, noteOf().read({ refreshToken: 'one' })]).toEqual([false, undefined]);
});

test('a note that is damaged, or of an unknown form, counts as none', async () => {
  const note = noteOf();
  const refused = { refreshToken: 'one' };
  await note.write(refused, { of: 'sign-in', at: 7, details: [] });
  const { token } = note.read(refused) ?? {};
  await mkdir(path.dirname(note.file), { recursive: true });
  for (const [written, found] of [
    ['{', undefined],
    ['null', undefined],
    [JSON.stringify({ token, of: 'sign-in', at: null, details: [] }), undefined],
    [JSON.stringify({ token, of: 'sign-in', at: 7 }), undefined],
    [
      JSON.stringify({ token, of: 'other', at: 7, details: [8] }),
      { token, of: 'sign-in', at: 7, details: ['8'] },
    ],
  ] as const) {
    await writeFile(note.file, written);
    expect(note.read(refused), written).toEqual(found);
  }
});

test('a note that cannot be removed is no error', async () => {
  const note = noteOf();
  await mkdir(path.join(note.file, 'inside'), { recursive: true });
  note.remove();
  expect(note.exists).toBe(true);
});
