import os from 'node:os';
import { parseArgs } from 'node:util';
import type { ShapeName } from '../../src/sandbox/shapes/service-shape.ts';
import { printTable } from '../bench/measure.ts';
import { FLAT_RULE } from './long-runner.ts';
import { FAULT_RATE, soakInShape } from './soak-in-shape.ts';
import { Verdict } from './verdict.ts';

/**
 * `npm run soak [-- --minutes N --seed N --shape flat|published --commands N]` runs the long-running commands
 * and many short ones against a sandbox that fails one request in twenty, kills some of them, and compares
 * what they did with what the sandbox stores. It exits with 1 if something was lost, came twice where the
 * contract does not allow it, kept growing, or was left behind.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    shape: { type: 'string' },
    commands: { type: 'string', default: '40' },
  },
});
const SHAPES: readonly ShapeName[] = ['published', 'flat'];
const shapes = SHAPES.filter((shape) => (values.shape ?? shape) === shape);
if (shapes.length === 0) throw new Error(`--shape: ${SHAPES.join(' or ')}, both where it is left out`);
const minutes = Number(values.minutes) / shapes.length;
const seed = Number(values.seed);

console.log(
  `soak: ${values.minutes} min, ${shapes.join(' and ')}, ${values.commands} commands at once, fault rate ${FAULT_RATE}, seed ${seed}, Node ${process.version}, ${os.cpus().length} cores`,
);
console.log(FLAT_RULE);
const verdict = new Verdict();
for (const shape of shapes) {
  const rows = await soakInShape({ shape, minutes, seed, commands: Number(values.commands) }, verdict);
  printTable(`items of the ${shape} shape`, ['measured', 'value'], rows);
}
console.log(
  `\nload average of the machine: ${os
    .loadavg()
    .map((load) => load.toFixed(0))
    .join(', ')}`,
);
const { length } = verdict.violations;
console.log(length === 0 ? 'no violation' : `${length} violations (--seed ${seed})`);
process.exitCode = length === 0 ? 0 : 1;
