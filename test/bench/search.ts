import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Command, compare, measure } from './measure.ts';
import { hottest } from './profile.ts';
import { program, type SandboxProcess, startSandboxProcess } from './sandbox-process.ts';
import { printTable } from './table.ts';

const PAGE = 500;

/** Complete searches, beside one `curl` with kept-alive connections and a `curl` a page, each piped to jq. */
export async function benchSearch(): Promise<void> {
  await throughput();
  await bottleneck();
  await gh();
  await latency();
  await memory();
}

async function throughput(): Promise<void> {
  const events = 200_000;
  await using sandbox = await startSandboxProcess('--events', String(events));
  await using folder = await scratch();
  const ours = search(sandbox, '--ndjson');
  const results = await compare(
    {
      'hooktrail events search --ndjson': ours,
      'one curl | jq': await oneCurl(sandbox, folder.path, events),
      'a curl a page | jq': await curlPerPage(sandbox, folder.path, events),
    },
    5,
  );
  const base = results['hooktrail events search --ndjson']?.seconds as number;
  printTable(
    `${events} events, no latency (medians of 5)`,
    ['command', 'seconds', 'times ours', 'lines', 'CPU s', 'µs CPU an event'],
    Object.entries(results).map(([name, result]) => [
      name,
      result.seconds.toFixed(2),
      (result.seconds / base).toFixed(1),
      String(result.lines),
      name.startsWith('hooktrail') ? (result.cpu?.toFixed(2) ?? '-') : '-',
      name.startsWith('hooktrail') && result.cpu ? ((result.cpu / events) * 1e6).toFixed(2) : '-',
    ]),
  );
}

/** What to make faster next: the functions of ours and of Node that take the most processor time. */
async function bottleneck(): Promise<void> {
  await using sandbox = await startSandboxProcess('--events', '200000');
  const hot = await hottest(search(sandbox, '--ndjson'), 8);
  printTable(
    'where the time goes, 200000 events (one profiled run)',
    ['ms', 'function'],
    hot.map(([name, milliseconds]) => [milliseconds.toFixed(0), name]),
  );
}

/** Debian's `gh` pages by a `Link` header, which this service has not: it gets one call a page, as `curl` does. */
async function gh(): Promise<void> {
  if (spawnSync('gh', ['--version']).status !== 0) {
    console.log('\ngh is not installed: no row for it');
    return;
  }
  const events = 20_000;
  await using sandbox = await startSandboxProcess('--events', String(events));
  await using folder = await scratch();
  const results = await compare(
    {
      'hooktrail events search --ndjson': search(sandbox, '--ndjson'),
      "gh api --jq '.items[]', a call a page": await ghPerPage(sandbox, folder.path, events),
    },
    5,
  );
  printTable(
    `${events} events, no latency (medians of 5)`,
    ['command', 'seconds', 'lines'],
    Object.entries(results).map(([name, result]) => [name, result.seconds.toFixed(2), String(result.lines)]),
  );
}

async function latency(): Promise<void> {
  const events = 50_000;
  const milliseconds = 50;
  await using sandbox = await startSandboxProcess(
    '--events',
    String(events),
    '--latency',
    String(milliseconds),
  );
  await using folder = await scratch();
  const results = await compare(
    {
      'hooktrail, 4 at once': search(sandbox, '--ndjson'),
      'hooktrail, 8 at once': search(sandbox, '--ndjson', '--concurrency', '8'),
      'one curl | jq': await oneCurl(sandbox, folder.path, events),
    },
    5,
  );
  const curl = results['one curl | jq']?.seconds as number;
  const pages = events / PAGE;
  const bound = (name: string) => {
    const width = name.includes('8') ? 8 : name.includes('4') ? 4 : 1;
    return (pages * milliseconds) / 1000 / width;
  };
  printTable(
    `${events} events, ${milliseconds} ms latency (medians of 5)`,
    ['command', 'seconds', 'faster than curl', 'pages × latency ÷ concurrency', 'ratio to it'],
    Object.entries(results).map(([name, { seconds }]) => [
      name,
      seconds.toFixed(2),
      (curl / seconds).toFixed(1),
      bound(name).toFixed(2),
      (seconds / bound(name)).toFixed(2),
    ]),
  );
}

async function memory(): Promise<void> {
  const rows: string[][] = [];
  let smaller: number | undefined;
  for (const events of [50_000, 1_000_000]) {
    await using sandbox = await startSandboxProcess('--events', String(events));
    const runs = [];
    for (let round = 0; round < 5; round++) runs.push(await measure(search(sandbox, '--ndjson')));
    const peak = Math.max(...runs.map((run) => run.peakMiB ?? Number.NaN));
    rows.push([String(events), peak.toFixed(0), smaller === undefined ? '-' : (peak / smaller).toFixed(2)]);
    smaller ??= peak;
  }
  printTable('peak memory (largest of 5)', ['events', 'MiB', 'ratio'], rows);
}

function search(sandbox: SandboxProcess, ...args: string[]): Command {
  return { file: process.execPath, args: [program, 'events', 'search', ...args], env: sandbox.env };
}

async function oneCurl(sandbox: SandboxProcess, folder: string, events: number): Promise<Command> {
  const config = path.join(folder, 'curl.conf');
  const { vendor } = sandbox.settings;
  const head = [
    `header = "Authorization: Bearer ${sandbox.token}"`,
    `header = "Accept: application/vnd.${vendor}.v1+json"`,
  ];
  const urls = pageUrls(sandbox, events).map((url) => `url = "${url}"`);
  await writeFile(config, [...head, ...urls].join('\n'));
  return {
    file: 'sh',
    args: ['-c', `curl --silent --show-error --globoff --config ${config} | jq -c '.items[]'`],
  };
}

async function curlPerPage(sandbox: SandboxProcess, folder: string, events: number): Promise<Command> {
  const script = path.join(folder, 'pages.sh');
  const { vendor } = sandbox.settings;
  const headers = `-H 'Authorization: Bearer ${sandbox.token}' -H 'Accept: application/vnd.${vendor}.v1+json'`;
  const lines = pageUrls(sandbox, events).map((url) => `curl -sSg ${headers} '${url}' | jq -c '.items[]'`);
  await writeFile(script, lines.join('\n'));
  return { file: 'sh', args: [script] };
}

async function ghPerPage(sandbox: SandboxProcess, folder: string, events: number): Promise<Command> {
  const script = path.join(folder, 'gh.sh');
  const headers = `-H 'Authorization: Bearer ${sandbox.token}' -H 'Accept: application/vnd.${sandbox.settings.vendor}.v1+json'`;
  const lines = pageUrls(sandbox, events).map((url) => `gh api ${headers} --jq '.items[]' '${url}'`);
  await writeFile(script, lines.join('\n'));
  // It wants some token of its own before it asks anything; the header above is the one that goes out.
  return { file: 'sh', args: [script], env: { GH_TOKEN: 'none', GH_CONFIG_DIR: folder } };
}

function pageUrls(sandbox: SandboxProcess, events: number): string[] {
  return Array.from(
    { length: Math.ceil(events / PAGE) },
    (_, page) => `${sandbox.settings.baseUrl}/integrator-events?limit(${page * PAGE + 1},${PAGE})`,
  );
}

async function scratch() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-bench-'));
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
