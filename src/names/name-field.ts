import type { Context } from '../context.ts';
import { type FieldPath, parseFieldPath } from '../items/field-path.ts';
import { loadSetting, type SettingFlags } from '../settings/settings.ts';

/**
 * The field that names who an event is for, if the settings name one. Throws `UsageError` for a text that is
 * no path.
 */
export async function loadNameField(
  flags: SettingFlags,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<FieldPath | undefined> {
  const text = await loadSetting('nameField', flags, context);
  if (text === undefined) return undefined;
  return parseFieldPath(
    text,
    context.environment['HOOKTRAIL_NAME_FIELD'] ? 'HOOKTRAIL_NAME_FIELD' : 'name-field',
  );
}
