import { existsSync } from 'node:fs';
import { nodeOf } from '../support/node-versions.ts';
import { type Command, compare, pairedRatio } from './measure.ts';
import { program, type SandboxProcess, startSandboxProcess } from './sandbox-process.ts';
import { hasKeychain, signInTo } from './signed-in.ts';
import { printTable } from './table.ts';

const ROUNDS = 20;
const VERSIONS = [20, 22, 24];
const EMPTY = 'node -e 0';
const FETCH = 'node -e "fetch(url)"';

/**
 * Measures how long short commands take on each installed version of Node, compared with a Node process that does
 * nothing, with a bare `fetch` of the same page, and with `curl` and `gh`.
 */
export async function benchStartUp(): Promise<void> {
  await using sandbox = await startSandboxProcess('--token-lifetime', '86400', '--events', '1000');
  await using inFile = await signInTo(sandbox.settings, 'file');
  await using inKeychain = hasKeychain ? await signInTo(sandbox.settings, 'keychain') : undefined;
  if (!inKeychain) console.log('left out: the keychain, for want of a Secret Service on this machine');
  for (const version of VERSIONS) {
    const node = await nodeOf(version);
    const ours = (args: string, env = inFile.env): Command => ({
      file: node,
      args: [program, ...args.split(' ')],
      env,
    });
    const search = 'events search --limit 1';
    const results = await compare(
      {
        [EMPTY]: { ...ours(''), args: ['-e', '0'] },
        'hooktrail --version': ours('--version'),
        'hooktrail --help': ours('--help'),
        [FETCH]: { ...ours(''), args: ['-e', fetching(sandbox)] },
        'hooktrail search, ready token': ours(search, { ...inFile.env, ...sandbox.env }),
        'hooktrail search, key and file': ours(search),
        ...(inKeychain ? { 'hooktrail search, keychain': ours(search, inKeychain.env) } : {}),
        ...others(sandbox),
      },
      ROUNDS,
    );
    const times = (name: string, base: string) =>
      pairedRatio(results[name]?.runs, results[base]?.runs).toFixed(2);
    printTable(
      `start-up on Node ${version} (medians of ${ROUNDS} runs in turn, ratios of each pair)`,
      ['command', 'ms', `times ${EMPTY}`, 'times fetch'],
      Object.entries(results).map(([name, { seconds }]) => [
        name,
        (seconds * 1000).toFixed(0),
        times(name, EMPTY),
        times(name, FETCH),
      ]),
    );
  }
}

function pageOf({ env }: SandboxProcess) {
  return {
    url: `${env['HOOKTRAIL_BASE_URL']}/integrator-events?limit(1,1)`,
    headers: {
      authorization: `Bearer ${env['HOOKTRAIL_ACCESS_TOKEN']}`,
      accept: `application/vnd.${env['HOOKTRAIL_VENDOR']}.v1+json`,
    },
  };
}

function fetching(sandbox: SandboxProcess): string {
  const { url, headers } = pageOf(sandbox);
  return `fetch(${JSON.stringify(url)}, ${JSON.stringify({ headers })}).then((r) => r.text()).then(console.log)`;
}

/** Compiled programs, if they are installed. */
function others(sandbox: SandboxProcess): Record<string, Command> {
  const { url, headers } = pageOf(sandbox);
  const lines = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  const commands: Record<string, Command> = {
    curl: { file: '/usr/bin/curl', args: ['--silent', '--fail', '--globoff', ...lines, url] },
    'gh --version': { file: '/usr/bin/gh', args: ['--version'] },
  };
  return Object.fromEntries(Object.entries(commands).filter(([, { file }]) => existsSync(file)));
}
