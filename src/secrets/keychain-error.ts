import { advise, hooktrail } from '../advice.ts';
import { UsageError } from '../errors.ts';

export type KeychainCondition = keyof typeof TEXTS;

/** The message and the next step depend on the condition. */
export class KeychainError extends UsageError {
  readonly condition: KeychainCondition;
  /**
   * True if the keychain is known to hold none of our secrets: it does not exist, or a locked one has none.
   */
  readonly holdsNothing: boolean;

  constructor(condition: KeychainCondition, detail?: string, holdsNothing = ABSENT.has(condition)) {
    const { message, step } = TEXTS[condition];
    super(message, {
      details: detail ? [detail] : [],
      next: advise`${step}, or keep the secrets in an encrypted file: ${hooktrail('login --store file')} (or HOOKTRAIL_STORE=file)`,
    });
    this.condition = condition;
    this.holdsNothing = holdsNothing;
  }
}

const TEXTS = {
  'no-package': {
    message: 'the OS keychain cannot be reached: the npm package keytar is not installed',
    step: 'install hooktrail again without `--omit=optional`',
  },
  'no-library': {
    message: 'the OS keychain cannot be reached: its native library could not be loaded',
    step: 'install libsecret (Debian, Ubuntu: `apt install libsecret-1-0`; Fedora: `dnf install libsecret`)',
  },
  'no-bus': {
    message: 'the OS keychain cannot be reached: there is no D-Bus session bus',
    step: 'run hooktrail in a desktop session, or under `dbus-run-session` with an unlocked keyring',
  },
  'unnamed-bus': {
    message: 'the OS keychain cannot be reached: no variable names the D-Bus session bus',
    step: 'set that variable for the command, which cron and sudo leave out',
  },
  'no-service': {
    message: 'there is no OS keychain: no Secret Service runs on the D-Bus session bus',
    step: 'start one (gnome-keyring, KWallet, KeePassXC)',
  },
  'no-keyring': {
    message: 'the OS keychain has no default keyring to store anything in',
    step: 'create one (in "Passwords and Keys", or by signing in to the desktop once)',
  },
  locked: {
    message: 'the OS keychain is locked',
    step: 'unlock it (in "Passwords and Keys" or your wallet manager, with `gnome-keyring-daemon --unlock`, on macOS with `security unlock-keychain`) and run the command again',
  },
  mute: {
    message: 'the OS keychain does not answer',
    step: 'look for a dialog of the keychain that waits for you, or restart its service',
  },
  unreadable: {
    message: 'the OS keychain has the item, but what it gave cannot be decrypted',
    step: advise`run the command again, or replace the item with ${hooktrail('logout')} and ${hooktrail('login')}`,
  },
  refused: { message: 'the OS keychain refused', step: 'allow hooktrail to use it (macOS calls it node)' },
} as const;

const ABSENT = new Set<KeychainCondition>(['no-package', 'no-library', 'no-bus', 'no-service', 'no-keyring']);
