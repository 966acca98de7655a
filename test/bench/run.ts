import { benchRefresh } from './refresh.ts';
import { benchLatency, benchMemory, benchOffline, benchSearch } from './search.ts';
import { benchStartUp } from './start-up.ts';

/** `npm run bench [name…]` runs every measurement, or those named. Nothing here passes or fails. */
const benches: Readonly<Record<string, () => Promise<void>>> = {
  search: benchSearch,
  latency: benchLatency,
  memory: benchMemory,
  offline: benchOffline,
  startup: benchStartUp,
  refresh: benchRefresh,
};

async function main(names: readonly string[]): Promise<void> {
  for (const name of names.length > 0 ? names : Object.keys(benches)) {
    const bench = benches[name];
    if (!bench) throw new Error(`no bench '${name}': ${Object.keys(benches).join(', ')}`);
    await bench();
  }
}

await main(process.argv.slice(2));
