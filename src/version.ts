import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;

/** Replaced in the build by the commit, or an empty text. */
declare const HOOKTRAIL_COMMIT: string | undefined;
const commit = typeof HOOKTRAIL_COMMIT === 'undefined' ? '' : HOOKTRAIL_COMMIT;

/** For people, with the built commit as in Semantic Versioning (item 10): `0.1.0+c9b4c668`. */
export const fullVersion = commit ? `${version}+${commit}` : version;

/** Used in the manual page, instead of the build time: the same sources give the same page. */
export const versionDate = '2026-11-22';
