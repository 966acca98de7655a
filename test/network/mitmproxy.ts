import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startTool } from '../support/machine/foreground-tool.ts';
import { available } from '../support/machine/requirement.ts';
import { freePort } from '../support/ports.ts';
import { authorityFile } from '../support/tls.ts';

export const hasMitmproxy = available('mitmproxy');

/**
 * mitmproxy, which terminates the TLS of its clients with certificates of its own authority. It connects to
 * this machine for every name, and expects certificates of 'Example Private CA' there.
 */
export async function startMitmproxy() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'mitmproxy-'));
  const addon = path.join(folder, 'this_machine.py');
  await writeFile(
    addon,
    'def server_connect(data):\n    data.server.address = ("127.0.0.1", data.server.address[1])\n',
  );
  const port = await freePort();
  const options = {
    confdir: folder,
    ssl_verify_upstream_trusted_ca: authorityFile,
    showhost: true,
  };
  const proxy = await startTool(
    '/usr/bin/mitmdump',
    [
      ...['--listen-host', '127.0.0.1', '--listen-port', String(port), '--scripts', addon],
      ...Object.entries(options).flatMap(([name, value]) => ['--set', `${name}=${value}`]),
    ],
    { ready: /Proxy server listening/, env: { HOME: folder, PYTHONUNBUFFERED: '1' } },
  );
  return {
    url: `http://127.0.0.1:${port}`,
    /** The certificate of its authority. */
    authorityFile: path.join(folder, 'mitmproxy-ca-cert.pem'),
    /** `host:port` of the requests that it decrypted so far, each once. */
    read: () =>
      new Set(
        Array.from(proxy.printed.matchAll(/(?:GET|POST) https:\/\/([^/]+)/g), ([, host]) => String(host)),
      ),
    async [Symbol.asyncDispose]() {
      await proxy.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type Mitmproxy = Awaited<ReturnType<typeof startMitmproxy>>;
