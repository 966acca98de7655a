import { rm } from 'node:fs/promises';
import path from 'node:path';
import { type Command, type Measured, measure, median, printTable } from './measure.ts';
import { createFolder, program, type Service, startMadeService } from './processes.ts';

const EVENTS = 500_000;
const BYTES = 700;
const ROUNDS = 3;

/**
 * Measures exports in each format beside plain paging (`search --ndjson`) of the same events: time, memory,
 * and the sum of the offsets that were asked for, each of which a service with an index still has to skip.
 * `--events N` takes another number of events, `--rounds N` of runs, `--only TEXT` the commands that hold it.
 */
export async function benchExport(flags: readonly string[]): Promise<void> {
  const numberOf = (flag: string) => Number(flags[flags.indexOf(flag) + 1]);
  const events = flags.includes('--events') ? numberOf('--events') : EVENTS;
  const rounds = flags.includes('--rounds') ? numberOf('--rounds') : ROUNDS;
  const only = flags.includes('--only') ? (flags[flags.indexOf('--only') + 1] ?? '') : '';
  await using service = await startMadeService(`${events}`, `${BYTES}`);
  await using folder = await createFolder();
  const directory = path.join(folder.path, 'export');
  const exported = (...args: string[]) => eventsCommand(service, 'export', directory, ...args);
  const commands = Object.entries({
    'search --ndjson': eventsCommand(service, 'search', '--ndjson'),
    'export --concurrency 1': exported('--concurrency', '1'),
    export: exported(),
    'export --gzip': exported('--gzip'),
    'export --format parquet': exported('--format', 'parquet'),
    'export --format parquet --partition day': exported('--format', 'parquet', '--partition', 'day'),
  }).filter(([name]) => name.includes(only));
  const runs = new Map<string, (Measured & Asked)[]>();
  for (let round = 0; round < rounds; round++)
    for (const [name, command] of commands) {
      await rm(directory, { recursive: true, force: true });
      await askedOf(service);
      const measured = await measure(command);
      const asked = await askedOf(service);
      console.error(`  run ${round + 1} of ${rounds}: ${measured.seconds.toFixed(2)} s, ${name}`);
      runs.set(name, [...(runs.get(name) ?? []), { ...measured, ...asked }]);
    }
  printTable(
    `${events} events of ${BYTES} bytes, from a service where offsets are free (medians of ${rounds} runs in turn)`,
    ['command', 'seconds', 'CPU s', 'peak MiB', 'requests', 'sum of offsets', 'of plain paging'],
    [...runs].map(([name, all]) => {
      const of = (figure: keyof (Measured & Asked)) => median(all.map((run) => run[figure]));
      const share = of('offsets') / plainOffsets(events);
      return [
        ...[name, of('seconds'), of('cpu'), of('peakMiB')],
        ...[`${of('requests')}`, of('offsets').toExponential(2), `1/${Math.round(1 / share)}`],
      ];
    }),
  );
}

/** The sum of the offsets of all pages of 500 events. */
function plainOffsets(events: number): number {
  const pages = Math.ceil(events / 500);
  return (500 * pages * (pages - 1)) / 2;
}

interface Asked {
  readonly requests: number;
  readonly offsets: number;
}

/** The requests to the service since it was last asked. */
async function askedOf({ env }: Pick<Service, 'env'>): Promise<Asked> {
  const answer = await fetch(`${env['HOOKTRAIL_BASE_URL']}/asked`);
  return (await answer.json()) as Asked;
}

function eventsCommand({ env }: Pick<Service, 'env'>, ...words: string[]): Command {
  return {
    file: process.execPath,
    args: [program, 'events', ...words],
    // Node 20 reads the extra certificates at each start, which takes 45 ms.
    env: { ...env, NODE_EXTRA_CA_CERTS: undefined },
  };
}
