import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startTool } from '../support/machine/foreground-tool.ts';
import { available } from '../support/machine/requirement.ts';
import { freePort } from '../support/ports.ts';

export const hasSquid = available('Squid');

/**
 * Squid as a proxy that requires a user name and a password. Only Squid resolves `hosts`, to this machine.
 */
export async function startSquid(user: string, password: string, hosts: readonly string[]) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'squid-'));
  const logs = path.join(folder, 'logs');
  await mkdir(logs);
  // If root starts it, it switches to another user.
  await chmod(folder, 0o755);
  await chmod(logs, 0o777);
  const port = await freePort();
  const file = (name: string) => path.join(folder, name);
  await writeFile(file('hosts'), `127.0.0.1 ${hosts.join(' ')}\n`);
  await writeFile(file('passwords'), `${user}:${createHash('md5').update(password).digest('hex')}\n`);
  await writeFile(
    file('squid.conf'),
    `http_port 127.0.0.1:${port}
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${file('passwords')}
auth_param basic children 1 startup=1
acl signed_in proxy_auth REQUIRED
http_access allow signed_in
http_access deny all
hosts_file ${file('hosts')}
dns_nameservers 127.0.0.1
logformat asked %>Hs %rm %ru %un
access_log stdio:${path.join(logs, 'access.log')} asked
buffered_logs off
cache_log /dev/null
cache deny all
pinger_enable off
pid_filename none
netdb_filename none
coredump_dir ${logs}
shutdown_lifetime 0 seconds
visible_hostname squid.test
`,
  );
  const squid = await startTool(
    '/usr/sbin/squid',
    ['-N', '-n', `squid${port}`, '-d', '1', '-f', file('squid.conf')],
    {
      ready: /Accepting HTTP Socket connections/,
    },
  );
  return {
    /** `host:port`. */
    host: `127.0.0.1:${port}`,
    /** The lines of its log so far: status, method, target and user. */
    log: async () =>
      (await readFile(path.join(logs, 'access.log'), 'utf8').catch(() => '')).split('\n').filter(Boolean),
    async [Symbol.asyncDispose]() {
      // With time to remove its shared memory, whose name is that of `-n`.
      await squid.end('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type Squid = Awaited<ReturnType<typeof startSquid>>;
