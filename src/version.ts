import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;

/** When this version was made, for the manual page: the same sources give the same page. */
export const versionDate = '2026-11-22';
