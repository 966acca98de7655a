import { promises as files } from 'node:fs';
import path from 'node:path';
import type { Context } from '../../context.ts';

/**
 * Returns the address at which libsecret looks for the session bus: a path for `net.connect` (a leading NUL means
 * Linux' abstract namespace), `absent` if there is none, `other` for an address that only the native library supports.
 */
export async function sessionBus({
  environment,
  machine,
}: Pick<Context, 'environment' | 'machine'>): Promise<{ socket: string } | 'absent' | 'other'> {
  const address = environment['DBUS_SESSION_BUS_ADDRESS'];
  if (address) return parseAddress(address) ?? 'other';
  // As GLib does: the bus of systemd, but only if the user owns it.
  const folder = environment['XDG_RUNTIME_DIR'];
  if (!folder) return 'absent';
  const socket = path.join(folder, 'bus');
  const found = await files.lstat(socket).catch(() => undefined);
  return found?.isSocket() && found.uid === machine.userId ? { socket } : 'absent';
}

/**
 * D-Bus specification, "Server Addresses": alternatives are separated by `;`, values escaped with `%`. Returns the
 * first that can be used.
 */
function parseAddress(address: string): { socket: string } | undefined {
  for (const alternative of address.split(';')) {
    const [, transport, list = ''] = /^([^:]+):(.*)$/.exec(alternative) ?? [];
    if (transport !== 'unix') continue;
    for (const pair of list.split(',')) {
      const [key, ...rest] = pair.split('=');
      const value = unescaped(rest.join('='));
      if (key === 'path') return { socket: value };
      if (key === 'abstract') return { socket: `\0${value}` };
    }
  }
  return undefined;
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
