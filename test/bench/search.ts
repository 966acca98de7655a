import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { nodeOf } from '../support/machine/node-versions.ts';
import { type Command, compare, measure, median, pairedRatio, printTable } from './measure.ts';
import { createFolder, program, type Service, startPeer, startSandboxProcess } from './processes.ts';

const PAGE = 500;
const ROUNDS = 5;
const PEAK_ROUNDS = 2;
const VERSIONS = [20, 22, 24];
const OURS = 'hooktrail events search --ndjson';
const CURL = 'one curl';
const CURL_JQ = 'one curl | jq';

/** A service whose pages are prepared in advance: the sandbox takes a millisecond to write each page. */
async function startPreparedPages(events: number, bytes: number, latency = 0): Promise<Service> {
  const peer = await startPeer(`${events}`, `${bytes}`, `${latency}`);
  const env = {
    HOOKTRAIL_BASE_URL: `http://127.0.0.1:${peer.line}`,
    HOOKTRAIL_VENDOR: 'bench',
    HOOKTRAIL_ACCESS_TOKEN: 'a-token',
  };
  return { ...peer, env };
}

/**
 * Measures complete searches of the sandbox, and of events of 400 and of 535 bytes, beside `curl` with
 * kept-alive connections, a bare `fetch`, and `curl` with jq.
 */
export async function benchSearch(): Promise<void> {
  const events = 200_000;
  await using sandbox = await startSandboxProcess('--events', String(events));
  await using small = await startPreparedPages(events, 400);
  await using medium = await startPreparedPages(events, 535);
  await using folder = await createFolder();
  const peers = { 'the sandbox': sandbox, 'events of 400 bytes': small, 'events of 535 bytes': medium };
  for (const [name, peer] of Object.entries(peers)) {
    const results = await compare(
      {
        [OURS]: search(peer),
        [CURL]: await oneCurl(peer, folder.path, events, ''),
        'node -e "fetch(url)", 4 at once': bareFetch(peer, events),
        [CURL_JQ]: await oneCurl(peer, folder.path, events),
      },
      ROUNDS,
    );
    printTable(
      `${events} events, ${name}, Node ${process.versions.node}, no latency (medians of ${ROUNDS} runs in turn, ratios of each pair)`,
      ['command', 'seconds', 'times ours', 'lines', 'CPU seconds', 'times that of curl'],
      Object.entries(results).map(([command, { seconds, runs, lines, cpu }]) => [
        command,
        seconds,
        pairedRatio(runs, results[OURS]?.runs),
        String(lines),
        // Of a pipeline, only the shell is measured.
        ...(command === CURL_JQ ? ['-', '-'] : [cpu, cpu / (results[CURL]?.cpu ?? Number.NaN)]),
      ]),
    );
  }
}

/**
 * Measures how much more connections add to the speed. The bound is the time of a search of one page, which
 * also gives the count, and that of the other pages, as many at a time as there are connections.
 */
export async function benchLatency(): Promise<void> {
  const events = 50_000;
  const milliseconds = 50;
  await using service = await startPreparedPages(events, 540, milliseconds);
  await using folder = await createFolder();
  const widths = [1, 4, 16];
  const nameOf = (width: number) => `hooktrail, ${width} at once`;
  const ours = widths.map((width) => [nameOf(width), search(service, '--concurrency', `${width}`)]);
  const onePage = 'hooktrail, one page';
  const results = await compare(
    {
      [onePage]: search(service, '--limit', `${PAGE}`),
      ...Object.fromEntries(ours),
      [CURL_JQ]: await oneCurl(service, folder.path, events),
    },
    ROUNDS,
  );
  const pages = events / PAGE;
  printTable(
    `${events} events, ${milliseconds} ms latency (medians of ${ROUNDS}, the bound of each run)`,
    ['command', 'seconds', 'bound', 'share of the bound'],
    Object.entries(results).map(([name, { seconds, runs }]) => {
      const width = widths.find((one) => nameOf(one) === name);
      if (width === undefined) return [name, seconds, '-', '-'];
      const rest = ((pages - 1) / width) * (milliseconds / 1000);
      const bounds = (results[onePage]?.runs ?? []).map((first) => first + rest);
      return [name, seconds, median(bounds), `${(pairedRatio(bounds, runs) * 100).toFixed(0)} %`];
    }),
  );
}

export async function benchMemory(): Promise<void> {
  await using fewer = await startSandboxProcess('--events', '50000');
  await using more = await startSandboxProcess('--events', '1000000');
  const peakOf = async (file: string, peer: Service) => {
    const peaks = [];
    for (let round = 0; round < PEAK_ROUNDS; round++)
      peaks.push((await measure({ ...search(peer), file })).peakMiB);
    return Math.max(...peaks);
  };
  const rows = [];
  for (const version of VERSIONS) {
    const node = await nodeOf(version);
    const [small, large] = [await peakOf(node, fewer), await peakOf(node, more)];
    rows.push([String(version), small, large, large / small]);
  }
  const header = ['Node', '50000 events', '1000000 events', 'ratio'];
  printTable(`peak memory in MiB (largest of ${PEAK_ROUNDS})`, header, rows);
}

/**
 * Measures searches of an export, and of one file with the same events, beside jq and explaining the
 * failures.
 */
export async function benchOffline(): Promise<void> {
  const filter = 'select(.publishStatus=="FAILED")';
  await using folder = await createFolder();
  for (const [events, rounds] of [
    [50_000, ROUNDS],
    [1_000_000, 3],
  ] as const) {
    const directory = path.join(folder.path, `${events}`);
    const file = `${directory}.ndjson`;
    await writeEvents(events, directory, file);
    for (const [name, from] of [
      ['DIRECTORY', directory],
      ['FILE', file],
    ] as const) {
      const ours = `hooktrail events search --failed --ndjson --from ${name}`;
      const searching = search({ env: {} }, '--failed', '--from', from);
      const parts = name === 'FILE' ? '"$0"' : '"$0"/part-*.ndjson';
      const results = await compare(
        {
          [ours]: searching,
          [`hooktrail events explain --from ${name}`]: {
            ...searching,
            args: [program, 'events', 'explain', '--from', from],
          },
          [`jq -c '${filter}'`]: { file: 'sh', args: ['-c', `exec jq -c '${filter}' ${parts}`, from] },
        },
        rounds,
      );
      printTable(
        `${events} events ${name === 'FILE' ? 'in one file' : 'of an export'} (medians of ${rounds})`,
        ['command', 'seconds', 'times ours', 'CPU s', 'times ours', 'peak MiB', 'lines'],
        Object.entries(results).map(([command, { seconds, runs, cpu, peakMiB, lines }]) => [
          ...[command, seconds, pairedRatio(runs, results[ours]?.runs)],
          ...[cpu, cpu / (results[ours]?.cpu ?? Number.NaN), peakMiB, String(lines)],
        ]),
      );
    }
  }
}

/** Exports that many events of a sandbox, and puts them into one file, too. */
async function writeEvents(events: number, directory: string, file: string): Promise<void> {
  await using sandbox = await startSandboxProcess('--events', String(events));
  const { env } = search(sandbox);
  const exporting = spawn(process.execPath, [program, 'events', 'export', directory], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(exporting, 'exit');
  if (code !== 0) throw new Error(`the export to ${directory} ended with ${code}`);
  const joining = spawn('sh', ['-c', 'cat "$0"/part-*.ndjson > "$1"', directory, file]);
  await once(joining, 'exit');
}

function search({ env }: Pick<Service, 'env'>, ...flags: string[]): Command {
  return {
    file: process.execPath,
    args: [program, 'events', 'search', '--ndjson', ...flags],
    // Node 20 reads the extra certificates at each start, which takes 45 ms.
    env: { ...env, NODE_EXTRA_CA_CERTS: undefined },
  };
}

/** The headers of a request to a service, and the URL of a page of it. */
export function requestOf({ env }: Pick<Service, 'env'>, start = 1, size = PAGE) {
  return {
    url: `${env['HOOKTRAIL_BASE_URL']}/integrator-events?limit(${start},${size})`,
    headers: {
      authorization: `Bearer ${env['HOOKTRAIL_ACCESS_TOKEN']}`,
      accept: `application/vnd.${env['HOOKTRAIL_VENDOR']}.v1+json`,
    },
  };
}

const pageUrls = (peer: Service, events: number) =>
  Array.from({ length: Math.ceil(events / PAGE) }, (_, page) => requestOf(peer, page * PAGE + 1).url);

function bareFetch(peer: Service, events: number): Command {
  const { headers } = requestOf(peer);
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

async function oneCurl(
  peer: Service,
  folder: string,
  events: number,
  filter = " | jq -c '.items[]'",
): Promise<Command> {
  const { url, headers } = requestOf(peer);
  const config = path.join(folder, `curl-${new URL(url).port}.conf`);
  const head = Object.entries(headers).map(([name, value]) => `header = "${name}: ${value}"`);
  await writeFile(config, [...head, ...pageUrls(peer, events).map((page) => `url = "${page}"`)].join('\n'));
  return {
    file: 'sh',
    args: [
      '-c',
      `${filter === '' ? 'exec ' : ''}curl --silent --show-error --globoff --config ${config}${filter}`,
    ],
  };
}
