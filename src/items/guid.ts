const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a GUID in its usual form: 8-4-4-4-12 hexadecimal digits, in any case. */
export function isGuid(text: string): boolean {
  return GUID.test(text);
}

/** What is wrong with a text that should be a GUID and is none. */
export function notAGuid(text: string): string {
  return `'${text}' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e`;
}
