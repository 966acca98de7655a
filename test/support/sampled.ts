/**
 * True with `npm test`: a third of what runs a second time, with a flat service, is drawn by the seed. All of
 * it runs in `.ci/run`, and where files or a project are named.
 */
export const isSampled = process.env['npm_lifecycle_event'] === 'test' && process.env['CI'] === undefined;
