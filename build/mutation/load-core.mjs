import { globSync } from 'node:fs';
import path from 'node:path';
import { CORES } from './cores.ts';

/*
 * Loads the core before any test begins. For a change to a module's constants, Stryker would otherwise run only
 * the test that loaded the module.
 */
const { mutate } = CORES[process.env['HOOKTRAIL_MUTATION_CORE']];
for (const file of globSync([...mutate])) await import(path.resolve(file));
