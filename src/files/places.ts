import { isAbsolute, join, resolve } from 'node:path';
import type { Context } from '../context.ts';

/**
 * The folder that holds the settings, absolute: `HOOKTRAIL_CONFIG_DIR`, or where the platform keeps such files
 * (XDG base directories, Application Support, AppData).
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
  // The XDG specification has relative paths ignored.
  return join(xdg && isAbsolute(xdg) ? xdg : join(home, '.config'), 'hooktrail');
}

/**
 * The folder for what can be lost at any time, absolute: beside the settings where `HOOKTRAIL_CONFIG_DIR` names a place
 * for them, else where the platform keeps such files (XDG base directories, Library/Caches, Local AppData).
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
  // The XDG specification has relative paths ignored.
  return join(xdg && isAbsolute(xdg) ? xdg : join(home, '.cache'), 'hooktrail');
}
