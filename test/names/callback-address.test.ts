import { expect, test } from 'vitest';
import {
  searchedAddress,
  shownAddress,
  typedAddress,
  withShownAddress,
} from '../../src/names/callback-address.ts';

test.each([
  ['https://hooks.example.com/in', 'hooks.example.com/in'],
  ['https://hooks.example.com', 'hooks.example.com'],
  ['https://HOOKS.example.com:8443/a/', 'hooks.example.com:8443/a'],
  ['https://user:secret@hooks.example.com/in?key=secret#x', 'hooks.example.com/in'],
  ['https://hooks.example.com/in/abcdefghijklm/hook', 'hooks.example.com/in/…/hook'],
  ['https://hooks.example.com/in/abcdefghijkl', 'hooks.example.com/in/abcdefghijkl'],
  ['https://hooks.example.com/v2/in', 'hooks.example.com/…/in'],
  ['https://hooks.example.com/in/%73ecret', 'hooks.example.com/in/…'],
  ['http://127.0.0.1:3000/in', '127.0.0.1:3000/in'],
])('of the address %s is shown %s', (address, shown) => expect(shownAddress(address)).toBe(shown));

test.each([
  '',
  'hooks',
  'javascript:alert(1)',
  '/in',
  'mailto:a@example.com',
  'xhttps://a.example',
  'httpsx://a.example',
])('%j is no address', (text) => {
  expect(shownAddress(text)).toBeUndefined();
  expect(searchedAddress(text)).toBe('');
  expect(typedAddress(text)).toBeUndefined();
});

test('a subscription keeps nothing else of its address, and other values stay as they are', () => {
  const addresses = [
    'https://hooks.example.com/in?key=secret',
    'secret',
    ['https://hooks.example.com/?key=x'],
    5,
  ];
  expect(addresses.map((callbackUrl) => withShownAddress({ callbackUrl, n: 1 }))).toEqual(
    ['hooks.example.com/in', null, null, null].map((callbackUrl) => ({ callbackUrl, n: 1 })),
  );
  const others = [{ n: 1 }, 5, null];
  expect(others.map(withShownAddress)).toEqual(others);
});

test('who typed an address sees its host and whole path', () => {
  expect(typedAddress('https://user:pw@Hooks.example.com/In/k3y?k=v')).toBe('hooks.example.com/In/k3y');
});

test('a part is looked for in host and path, and not in user information or a query', () => {
  expect(searchedAddress('https://user:pw@Hooks.example.com/In?k=v')).toBe('hooks.example.com/in');
});
