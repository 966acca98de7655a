import { expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { spawnHooktrail } from '../support/process.ts';
import { authorityFile, startTlsServer } from '../support/tls.ts';
import { ID, SECRET, startChanging } from './changing-service.ts';

const at = forEachTest(startChanging);

test.each([200, 405, 500, 302])(
  'over a verified connection the path is asked for by HEAD; %s means reachable',
  async (status) => {
    const requests: string[] = [];
    await using endpoint = await startTlsServer('localhost', (request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? '-'}`);
      // Some servers send this without being asked.
      response.writeContinue();
      response.writeHead(status, { location: 'https://elsewhere.invalid/' }).end();
    });
    const callbackUrl = `https://user:pass@127.0.0.1:${endpoint.port}/in/${SECRET}?key=${SECRET}`;
    at.kept.text = JSON.stringify({ subscriptionId: ID, callbackUrl, isEnabled: true });
    const env = { ...at.env, NODE_EXTRA_CA_CERTS: authorityFile };
    const args = ['subscriptions', 'check', '--yes', '--allow-private', '--json'];
    const { code, stdout, stderr } = await spawnHooktrail(args, { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject([
      {
        ...{ subscriptionId: ID, verdict: 'ok', http: status, problem: null, dns: ['127.0.0.1'] },
        tls: { host: true, trusted: true, issuer: 'Example Private CA', validTo: '2120-01-01T00:00:00.000Z' },
      },
    ]);
    expect(requests).toEqual([`HEAD /in/${SECRET} -`]);
  },
);
