import { existsSync } from 'node:fs';
import { hasKeyring } from '../support/machine/keyring.ts';
import { nodeOf } from '../support/machine/node-versions.ts';
import { type Command, compare, pairedRatio, printTable } from './measure.ts';
import { program, signInTo, startSandboxProcess } from './processes.ts';
import { requestOf } from './search.ts';

const ROUNDS = 20;
const VERSIONS = [20, 22, 24];
const EMPTY = 'node -e 0';
const FETCH = 'node -e "fetch(url)"';
const CURL = '/usr/bin/curl';

/**
 * Measures how long short commands take on each installed version of Node, compared with a Node process that
 * does nothing, with a bare `fetch` of the same page, and with `curl`.
 */
export async function benchStartUp(): Promise<void> {
  await using sandbox = await startSandboxProcess('--token-lifetime', '86400', '--events', '1000');
  await using inFile = await signInTo(sandbox.settings, 'file');
  await using inKeychain = hasKeyring ? await signInTo(sandbox.settings, 'keychain') : undefined;
  if (!inKeychain) console.log('left out: the keychain, for want of a Secret Service on this machine');
  const { url, headers } = requestOf(sandbox, 1, 1);
  const given = [url, { headers }].map((value) => JSON.stringify(value));
  const fetching = `fetch(${given}).then((response) => response.text()).then(console.log)`;
  const lines = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  for (const version of VERSIONS) {
    const node = await nodeOf(version);
    const ours = (line: string, env = inFile.env): Command => ({
      file: node,
      args: [program, ...line.split(' ')],
      env,
    });
    const search = 'events search --limit 1';
    const results = await compare(
      {
        [EMPTY]: { ...ours(''), args: ['-e', '0'] },
        'hooktrail --version': ours('--version'),
        'hooktrail --help': ours('--help'),
        [FETCH]: { ...ours(''), args: ['-e', fetching] },
        'hooktrail search, ready token': ours(search, { ...inFile.env, ...sandbox.env }),
        'hooktrail search, key and file': ours(search),
        ...(inKeychain ? { 'hooktrail search, keychain': ours(search, inKeychain.env) } : {}),
        ...(existsSync(CURL)
          ? { curl: { file: CURL, args: ['--silent', '--fail', '--globoff', ...lines, url] } }
          : {}),
      },
      ROUNDS,
    );
    printTable(
      `start-up on Node ${version} (medians of ${ROUNDS} runs in turn, ratios of each pair)`,
      ['command', 'ms', `times ${EMPTY}`, 'times fetch'],
      Object.entries(results).map(([name, { seconds, runs }]) => [
        name,
        (seconds * 1000).toFixed(0),
        pairedRatio(runs, results[EMPTY]?.runs),
        pairedRatio(runs, results[FETCH]?.runs),
      ]),
    );
  }
}
