import type { EndpointProblem } from '../http/endpoint-probe.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { secondText } from './summary-words.ts';

const UNTRUSTED = {
  'self-signed': 'its certificate is self-signed',
  'incomplete-chain':
    'it does not send the certificate of its issuer, which this machine does not know: an intermediate certificate is missing, or the authority is a private one',
  'unknown-authority': 'its certificate comes from an authority that this machine does not trust',
} as const;

export function endpointProblemText(problem: EndpointProblem, zone: TimeZone): string {
  switch (problem.kind) {
    case 'private':
      return `its name leads to ${problem.addresses.join(', ')}, which is not a public address`;
    case 'ended':
      return `its certificate ended ${secondText(problem.at, zone)}`;
    case 'not-yet':
      return `its certificate begins only ${secondText(problem.at, zone)}`;
    case 'host':
      return 'its certificate is for another host';
    case 'untrusted':
      return UNTRUSTED[problem.reason];
    default:
      return problem.message;
  }
}
