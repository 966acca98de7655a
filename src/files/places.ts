import { isAbsolute, join, resolve } from 'node:path';
import type { Context } from '../context.ts';

/**
 * The absolute path of the settings folder: `HOOKTRAIL_CONFIG_DIR`, or the platform's usual place (XDG base
 * directories, Application Support, AppData).
 */
export function configFolder({ environment, machine }: Pick<Context, 'environment' | 'machine'>): string {
  const own = environment['HOOKTRAIL_CONFIG_DIR'];
  if (own) return resolve(own);
  const home = environment['HOME'] || machine.userHome;
  if (machine.platform === 'win32') {
    return join(environment['APPDATA'] || join(machine.userHome, 'AppData', 'Roaming'), 'hooktrail');
  }
  if (machine.platform === 'darwin') return join(home, 'Library', 'Application Support', 'hooktrail');
  const xdg = environment['XDG_CONFIG_HOME'];
  // The XDG specification says to ignore relative paths.
  return join(xdg && isAbsolute(xdg) ? xdg : join(home, '.config'), 'hooktrail');
}

/**
 * The absolute path of the folder for caches: inside `HOOKTRAIL_CONFIG_DIR` if that is set, else the platform's usual
 * place (XDG base directories, Library/Caches, Local AppData).
 */
export function cacheFolder({ environment, machine }: Pick<Context, 'environment' | 'machine'>): string {
  const own = environment['HOOKTRAIL_CONFIG_DIR'];
  if (own) return join(resolve(own), 'cache');
  if (machine.platform === 'win32') {
    const local = environment['LOCALAPPDATA'] || join(machine.userHome, 'AppData', 'Local');
    return join(local, 'hooktrail', 'cache');
  }
  const home = environment['HOME'] || machine.userHome;
  if (machine.platform === 'darwin') return join(home, 'Library', 'Caches', 'hooktrail');
  const xdg = environment['XDG_CACHE_HOME'];
  // The XDG specification says to ignore relative paths.
  return join(xdg && isAbsolute(xdg) ? xdg : join(home, '.cache'), 'hooktrail');
}
