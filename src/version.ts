import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;

/** The build puts the commit in its place, or an empty text. */
declare const HOOKTRAIL_COMMIT: string | undefined;
const commit = typeof HOOKTRAIL_COMMIT === 'undefined' ? '' : HOOKTRAIL_COMMIT;

/**
 * The version for people, with the commit that was built as Semantic Versioning (item 10) takes it:
 * `0.1.0+c9b4c668`.
 */
export const fullVersion = commit ? `${version}+${commit}` : version;

/** When this version was made, for the manual page: the same sources give the same page. */
export const versionDate = '2026-11-22';
