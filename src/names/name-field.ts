import { type FieldPath, parseFieldPath } from '../items/field-path.ts';
import type { RunSettings } from '../settings/settings.ts';

/**
 * The field that names who an event is for, if the settings name one. Throws `UsageError` for a text that is
 * not a path.
 */
export function nameFieldOf({ nameField }: RunSettings): FieldPath | undefined {
  return nameField && parseFieldPath(nameField.text, nameField.source);
}
