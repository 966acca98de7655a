import { UsageError } from '../errors.ts';
import { type SettingName, settingNames, settingOrder } from './names.ts';
import { suggestion } from './nearest.ts';

/** The setting that a key such as `base-url` names. Throws `UsageError` with the nearest key, or where secrets go. */
export function settingOfKey(key: string): SettingName {
  const name = settingOrder.find((candidate) => settingNames[candidate].key === key);
  if (name) return name;
  const keys = settingOrder.map((candidate) => settingNames[candidate].key);
  if (/secret|token|password|passphrase/i.test(key)) {
    throw new UsageError(`'${key}' is not saved in the settings: secrets never are`, {
      next: '`hooktrail login` puts them where secrets live',
    });
  }
  throw new UsageError(`there is no setting '${key}'`, {
    details: [`settings: ${keys.join(', ')}`],
    next: suggestion(key, keys),
  });
}
