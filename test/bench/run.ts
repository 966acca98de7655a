import { benchAlarm } from './alarm.ts';
import { benchExplain } from './explain.ts';
import { benchExport } from './export.ts';
import { benchReconcile } from './reconcile.ts';
import { benchRefresh } from './refresh.ts';
import { benchLatency, benchMemory, benchOffline, benchSearch } from './search.ts';
import { benchSilence } from './silence.ts';
import { benchStartUp } from './start-up.ts';

/**
 * `npm run bench [name…] [-- --flag…]` runs every measurement, or those named, which read the flags. Nothing
 * here passes or fails.
 */
const benches: Readonly<Record<string, (flags: readonly string[]) => Promise<void> | void>> = {
  search: benchSearch,
  latency: benchLatency,
  memory: benchMemory,
  offline: benchOffline,
  export: benchExport,
  startup: benchStartUp,
  refresh: benchRefresh,
  reconcile: benchReconcile,
  explain: benchExplain,
  silence: benchSilence,
  alarm: benchAlarm,
};

async function main(args: readonly string[]): Promise<void> {
  const end = args.findIndex((arg) => arg.startsWith('--'));
  const names = end === -1 ? args : args.slice(0, end);
  const flags = args.slice(names.length);
  for (const name of names.length > 0 ? names : Object.keys(benches)) {
    const bench = benches[name];
    if (!bench) throw new Error(`no bench '${name}': ${Object.keys(benches).join(', ')}`);
    await bench(flags);
  }
}

await main(process.argv.slice(2));
