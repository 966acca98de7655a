import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { nodeOf } from '../support/node-versions.ts';
import { type Command, compare, measure, pairedRatio } from './measure.ts';
import { hottest } from './profile.ts';
import { program, type SandboxProcess, startSandboxProcess } from './sandbox-process.ts';
import { printTable } from './table.ts';

const PAGE = 500;
const VERSIONS = [20, 22, 24];
const OURS = 'hooktrail events search --ndjson';
const BARE = 'node -e "fetch(url)", 4 at once';

/** A service to search: the sandbox or another one. */
type Peer = Pick<SandboxProcess, 'env'>;

/** A service whose pages are prepared in advance: the sandbox takes a millisecond to write each page. */
async function startPreparedPages(
  events: number,
  bytes: number,
  latency = 0,
): Promise<Peer & AsyncDisposable> {
  const peer = path.join(import.meta.dirname, 'prepared-pages-peer.mjs');
  const child = spawn(process.execPath, [peer, `${events}`, `${bytes}`, `${latency}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    env: {
      HOOKTRAIL_BASE_URL: `http://127.0.0.1:${String(port).trim()}`,
      HOOKTRAIL_VENDOR: 'bench',
      HOOKTRAIL_ACCESS_TOKEN: 'a-token',
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/**
 * Measures complete searches, compared with one `curl` with kept-alive connections and one `curl` per page, each piped
 * to jq.
 */
export async function benchSearch(): Promise<void> {
  await throughput();
  await bottleneck();
  await gh();
  await latency();
  await memory();
}

/**
 * Measures the same pages with hooktrail, with only `curl`, and with `curl` and jq: from the sandbox, and for events of
 * 400 and of 535 bytes.
 */
async function throughput(): Promise<void> {
  const events = 200_000;
  await using sandbox = await startSandboxProcess('--events', String(events));
  await using small = await startPreparedPages(events, 400);
  await using medium = await startPreparedPages(events, 535);
  await using folder = await scratch();
  const peers = { 'the sandbox': sandbox, 'events of 400 bytes': small, 'events of 535 bytes': medium };
  for (const [name, peer] of Object.entries(peers)) {
    const results = await compare(
      {
        [OURS]: search(peer, '--ndjson'),
        'one curl': await oneCurl(peer, folder.path, events, false),
        [BARE]: bareFetch(peer, events),
        'one curl | jq': await oneCurl(peer, folder.path, events),
        ...(peer === sandbox
          ? { 'a curl a page | jq': await curlPerPage(sandbox, folder.path, events) }
          : {}),
      },
      5,
    );
    printTable(
      `${events} events, ${name}, no latency (medians of 5 runs in turn, ratios of each pair)`,
      ['command', 'seconds', 'times ours', 'lines', 'CPU s', 'µs CPU per event'],
      Object.entries(results).map(([command, result]) => [
        command,
        result.seconds.toFixed(2),
        pairedRatio(result.runs, results[OURS]?.runs).toFixed(2),
        String(result.lines),
        // For a shell command, only the shell itself is measured.
        command === OURS ? (result.cpu?.toFixed(2) ?? '-') : '-',
        command === OURS && result.cpu ? ((result.cpu / events) * 1e6).toFixed(2) : '-',
      ]),
    );
  }
}

/**
 * Lists the functions of hooktrail and of Node that take the most processor time: candidates for the next optimization.
 */
async function bottleneck(): Promise<void> {
  await using sandbox = await startSandboxProcess('--events', '200000');
  const hot = await hottest(search(sandbox, '--ndjson'), 8);
  printTable(
    'where the time goes, 200000 events (one profiled run)',
    ['ms', 'function'],
    hot.map(([name, milliseconds]) => [milliseconds.toFixed(0), name]),
  );
}

/** `gh` pages by a `Link` header, which this service does not have, so it gets one call per page, as `curl` does. */
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
      [OURS]: search(sandbox, '--ndjson'),
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

/** Measures how much each further connection adds to the speed. */
async function latency(): Promise<void> {
  const events = 50_000;
  const milliseconds = 50;
  await using service = await startPreparedPages(events, 540, milliseconds);
  await using folder = await scratch();
  const widths = [1, 2, 4, 8, 16];
  const ours = widths.map(
    (width) =>
      [`hooktrail, ${width} at once`, search(service, '--ndjson', '--concurrency', `${width}`)] as const,
  );
  const curl = 'one curl | jq';
  const results = await compare(
    { ...Object.fromEntries(ours), [curl]: await oneCurl(service, folder.path, events) },
    5,
  );
  const pages = events / PAGE;
  const waiting = (pages * milliseconds) / 1000;
  const rows = [...widths, 1].map((width, row) => {
    const name = ours[row]?.[0] ?? curl;
    const seconds = results[name]?.seconds as number;
    const bound = waiting / width;
    // The first page gives the count and the time up to which the search reads.
    const least = ((1 + Math.ceil((pages - 1) / width)) * milliseconds) / 1000;
    return [
      name,
      seconds.toFixed(2),
      bound.toFixed(2),
      (seconds / bound).toFixed(2),
      least.toFixed(2),
      (seconds / least).toFixed(2),
      efficiency(bound, seconds),
    ];
  });
  printTable(
    `${events} events, ${milliseconds} ms latency (medians of 5)`,
    [
      'command',
      'seconds',
      'pages × latency ÷ concurrency',
      'ratio to it',
      'after only a first page',
      'ratio to it',
      'parallel efficiency',
    ],
    rows,
  );
}

function efficiency(bound: number, seconds: number): string {
  return `${((100 * bound) / seconds).toFixed(0)} %`;
}

async function memory(): Promise<void> {
  await using fewer = await startSandboxProcess('--events', '50000');
  await using more = await startSandboxProcess('--events', '1000000');
  const rows: string[][] = [];
  for (const version of VERSIONS) {
    const node = await nodeOf(version);
    const small = await peakOf(node, fewer);
    const large = await peakOf(node, more);
    rows.push([String(version), small.toFixed(0), large.toFixed(0), (large / small).toFixed(2)]);
  }
  const header = ['Node', '50000 events', '1000000 events', 'ratio'];
  printTable('peak memory in MiB (largest of 3)', header, rows);
}

async function peakOf(node: string, peer: Peer): Promise<number> {
  const runs = [];
  for (let round = 0; round < 3; round++)
    runs.push(await measure({ ...search(peer, '--ndjson'), file: node }));
  return Math.max(...runs.map((run) => run.peakMiB ?? Number.NaN));
}

function search(peer: Peer, ...args: string[]): Command {
  // Node 20 reads the extra certificates at each start, which takes 45 ms.
  const env = { ...peer.env, NODE_EXTRA_CA_CERTS: undefined };
  return { file: process.execPath, args: [program, 'events', 'search', ...args], env };
}

function bareFetch(peer: Peer, events: number): Command {
  const headers = {
    authorization: `Bearer ${peer.env['HOOKTRAIL_ACCESS_TOKEN']}`,
    accept: `application/vnd.${peer.env['HOOKTRAIL_VENDOR']}.v1+json`,
  };
  const script = `
    const urls = ${JSON.stringify(pageUrls(peer, events))}.values();
    const copy = async () => {
      for (const url of urls) {
        const response = await fetch(url, ${JSON.stringify({ headers })});
        const body = new Uint8Array(await response.arrayBuffer());
        await new Promise((resolve) => process.stdout.write(body, resolve));
      }
    };
    for (let count = 0; count < 4; count++) copy();`;
  return { file: process.execPath, args: ['-e', script], env: { NODE_EXTRA_CA_CERTS: undefined } };
}

async function oneCurl(peer: Peer, folder: string, events: number, filtered = true): Promise<Command> {
  const {
    HOOKTRAIL_BASE_URL: baseUrl = '',
    HOOKTRAIL_VENDOR: vendor,
    HOOKTRAIL_ACCESS_TOKEN: token,
  } = peer.env;
  const config = path.join(folder, `curl-${new URL(baseUrl).port}.conf`);
  const head = [
    `header = "Authorization: Bearer ${token}"`,
    `header = "Accept: application/vnd.${vendor}.v1+json"`,
  ];
  const urls = pageUrls(peer, events).map((url) => `url = "${url}"`);
  await writeFile(config, [...head, ...urls].join('\n'));
  return {
    file: 'sh',
    args: [
      '-c',
      `curl --silent --show-error --globoff --config ${config}${filtered ? " | jq -c '.items[]'" : ''}`,
    ],
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
  // `gh` requires some token before it sends a request; the header above is the one that it sends.
  return { file: 'sh', args: [script], env: { GH_TOKEN: 'none', GH_CONFIG_DIR: folder } };
}

function pageUrls({ env }: Peer, events: number): string[] {
  return Array.from(
    { length: Math.ceil(events / PAGE) },
    (_, page) => `${env['HOOKTRAIL_BASE_URL']}/integrator-events?limit(${page * PAGE + 1},${PAGE})`,
  );
}

async function scratch() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-bench-'));
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
