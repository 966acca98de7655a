import { expect, test } from 'vitest';
import { KeptList } from '../../src/files/kept-list.ts';

test('each base URL of a host has a file of its own for what the service listed', () => {
  const context = {
    environment: { HOOKTRAIL_CONFIG_DIR: '/config' },
    machine: { platform: 'linux', userHome: '/home' },
  } as unknown as ConstructorParameters<typeof KeptList>[2];
  const fileOf = (baseUrl: string) =>
    new KeptList('event-types', { profile: 'default', baseUrl: new URL(baseUrl) }, context).file;
  expect(fileOf('https://events.example/tenant-a')).not.toBe(fileOf('https://events.example/tenant-b'));
  expect(fileOf('https://events.example/tenant-a/')).toBe(fileOf('https://events.example/tenant-a'));
});
