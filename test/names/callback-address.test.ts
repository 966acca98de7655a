import { expect, test } from 'vitest';
import { searchedAddress, shownAddress } from '../../src/names/callback-address.ts';

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

test.each(['', 'hooks', 'javascript:alert(1)', '/in', 'mailto:a@example.com'])('%j is no address', (text) => {
  expect(shownAddress(text)).toBeUndefined();
  expect(searchedAddress(text)).toBe('');
});

test('a part is looked for in host and path, and not in user information or a query', () => {
  expect(searchedAddress('https://user:pw@Hooks.example.com/In?k=v')).toBe('hooks.example.com/in');
});
