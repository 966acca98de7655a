/**
 * True with `npm test`, in which the seed draws a sample of the tests that are many of a kind, and of those
 * that run a second time, with a flat service. All run in `.ci/run`, and where files or a project are named.
 */
export const isSampled = process.env['npm_lifecycle_event'] === 'test' && process.env['CI'] === undefined;
