/** The word that the completion scripts call the program with, before the words of the line. */
const COMPLETE = '__complete';
/** The word that has the program fill the cache of event types. */
export const FILL = '__fill-event-types';

/** Whether a completion script called, or the program itself in its background. */
export function isForCompletion(argv: readonly string[]): boolean {
  return argv[0] === COMPLETE || argv[0] === FILL;
}
