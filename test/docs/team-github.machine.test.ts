import { generateKeyPairSync, sign } from 'node:crypto';
import { cp, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type * as WorkflowParser from '@actions/workflow-parser';
import { tsImport } from 'tsx/esm/api';
import { describe, expect, test } from 'vitest';
import { available } from '../support/machine/requirement.ts';
import {
  blockWith,
  inRoot,
  mayHaveRoots,
  PLATFORMS,
  packageFolder,
  realTime,
  startTeamSandbox,
  withAddresses,
} from './team-page.ts';

describe.skipIf(!PLATFORMS.includes('GitHub'))('the GitHub job', () => {
  const workflow = blockWith('yaml', 'workflow_dispatch');
  const read = async (content: string) => {
    // It imports JSON as bundlers take it, and Node does not.
    const parser: typeof WorkflowParser = await tsImport('@actions/workflow-parser', import.meta.url);
    const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = parser;
    const { context, value } = parseWorkflow({ name: 'failed.yml', content }, new NoOperationTraceWriter());
    const template = value && (await convertWorkflowTemplate(context, value));
    return { template, errors: context.errors.getErrors().map(({ message }) => message) };
  };

  test('is what the published schema of workflows takes', async () => {
    expect((await read(workflow)).errors).toEqual([]);
    for (const [right, wrong] of [
      ['runs-on', 'run-on'],
      ['id-token', 'id-tokens'],
      ['working-directory', 'directory'],
    ] as const)
      expect((await read(workflow.replace(right, wrong))).errors).not.toEqual([]);
  });

  test.skipIf(!mayHaveRoots || !available('curl') || !available('jq'))(
    'signs in with the token that the platform gives it, and lists failures',
    { timeout: 120_000 },
    async () => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      await using sandbox = await startTeamSandbox({
        clientKey: publicKey.export({ format: 'jwk' }) as never,
      });
      const clientId = `${sandbox.settings.clientId}-key`;
      const asked: string[] = [];
      await using platform = createServer((request, response) => {
        asked.push(`${request.headers.authorization} ${request.url}`);
        const now = Math.floor(realTime() / 1000);
        const about = { iss: clientId, sub: clientId, aud: sandbox.settings.authUrl };
        const claims = { ...about, iat: now, exp: now + 300, jti: String(Math.random()) };
        const data = [{ alg: 'ES256' }, claims]
          .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
          .join('.');
        const proof = sign('sha256', Buffer.from(data), { key: privateKey, dsaEncoding: 'ieee-p1363' });
        response.end(JSON.stringify({ count: 1, value: `${data}.${proof.toString('base64url')}` }));
      });
      await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
      const { port } = platform.address() as AddressInfo;

      const { template } = await read(withAddresses(workflow, sandbox, clientId));
      const [job] = template?.jobs ?? [];
      if (job?.type !== 'job') throw new Error('no job');
      const given = [...(job.env ?? [])].map(({ key, value }) => [String(key), String(value)]);
      const folder = path.join(os.tmpdir(), 'github-root');
      await inRoot(folder, 'mkdir -p /root/tools /root/runner');
      const tools = path.join(folder, 'root/tools');
      const there = await packageFolder();
      for (const name of await readdir(there)) await cp(path.join(there, name), path.join(tools, name));
      const runner = {
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'r3quest',
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
        RUNNER_TEMP: '/root/runner',
        GITHUB_ENV: '/root/runner/environment',
      };
      const steps = job.steps.flatMap((step) => ('run' in step ? [step] : []));
      expect(steps).toHaveLength(3);
      for (const step of steps) {
        const where = 'working-directory' in step ? String(step['working-directory']) : '.';
        const earlier = '[ ! -e "$GITHUB_ENV" ] || export $(cat "$GITHUB_ENV")';
        // No step's own setting of a folder is in the parser's types.
        const cwd = String(step.run).includes('SHA256SUMS') ? 'tools' : where;
        await inRoot(folder, `cd /root/${cwd}\n${earlier}\n${step.run}`, {
          ...Object.fromEntries(given),
          ...runner,
        });
      }
      const failed = JSON.parse(await readFile(path.join(folder, 'root/failed.json'), 'utf8'));
      expect(failed.length).toBeGreaterThan(0);
      expect(asked).toEqual([`Bearer r3quest /token?api-version=2.0&audience=${sandbox.settings.authUrl}`]);
    },
  );
});
