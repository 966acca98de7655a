import { expect, test } from 'vitest';
import { serviceCacheFile } from '../../src/files/folders.ts';

test('each base URL of a host has a file of its own for what the service listed', () => {
  const context = {
    environment: { HOOKTRAIL_CONFIG_DIR: '/config' },
    machine: { platform: 'linux', userHome: '/home' },
  } as unknown as Parameters<typeof serviceCacheFile>[2];
  const fileOf = (baseUrl: string) =>
    serviceCacheFile('event-types', { profile: 'default', baseUrl: new URL(baseUrl) }, context);
  expect(fileOf('https://events.example/tenant-a')).not.toBe(fileOf('https://events.example/tenant-b'));
  expect(fileOf('https://events.example/tenant-a/')).toBe(fileOf('https://events.example/tenant-a'));
});
