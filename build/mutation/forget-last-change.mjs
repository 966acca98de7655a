import { inject } from 'vitest';

/*
 * Runs before each test file is loaded, after Stryker's own setup, which takes it that no other change was
 * tried in this process: as a module is loaded, only a change to what runs then may be active.
 */
const stryker = globalThis.__stryker__;
stryker.hitCount = undefined;
if (inject('mutantActivation') !== 'static') stryker.activeMutant = undefined;
