import type { Socket } from 'node:net';
import type { DetailedPeerCertificate, SecureContext, TLSSocket } from 'node:tls';
import { TRUST_AUTHORITY, TransportError } from './transport.ts';

/** OpenSSL's codes for a chain that ends at an unknown authority. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const NEXT_STEPS = {
  selfSigned:
    'check the URL; if the server is yours, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM)',
  otherHost: 'check the host name in the URL: it has to be one that the certificate is for',
  expired: "its operator has to renew it; check this machine's date if that is not so",
  notYet: "check this machine's date; if it is right, its operator has to put the earlier certificate back",
  // The server sends only its own certificate, so a private authority and a missing intermediate look alike.
  leafAlone: `${TRUST_AUTHORITY}; if it is a public one, the server lacks the intermediate certificate, which its operator has to add`,
};

export function isUntrusted(error: unknown): boolean {
  return UNTRUSTED.has((error as NodeJS.ErrnoException).code ?? '');
}

/** True if this Node can read the operating system's certificate authorities. */
export async function readsSystemTrust(): Promise<boolean> {
  return 'getCACertificates' in (await import('node:tls'));
}

/**
 * Returns the operating system's certificate authorities together with Node's own; undefined if this Node
 * cannot read them (before 22.15). Used only if Node's own are not enough, since some systems take long to
 * list theirs.
 */
export async function systemTrust(): Promise<SecureContext | undefined> {
  const tls: typeof import('node:tls') & { getCACertificates?: (type: string) => string[] } = await import(
    'node:tls'
  );
  const certificates = tls.getCACertificates;
  return (
    certificates && tls.createSecureContext({ ca: [...certificates('default'), ...certificates('system')] })
  );
}

/**
 * Explains a refused certificate with its issuer and the reason; undefined for other failures.
 * `openUnchecked`: opens a connection that accepts any certificate.
 */
export async function trustFailure(
  error: unknown,
  url: URL,
  openUnchecked: () => Promise<Socket>,
): Promise<TransportError | undefined> {
  const { code = '', cert } = error as NodeJS.ErrnoException & { cert?: DetailedPeerCertificate };
  const failure = (text: string, next?: string, kind: 'tls' | 'untrusted' = 'tls') =>
    new TransportError(kind, `the certificate of ${url.host} ${text} (${code})`, error, next);
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = cert?.subjectaltname?.replaceAll(/DNS:|IP Address:/g, '');
    return failure(`is for ${names || (cert?.subject.CN ?? 'another host')}`, NEXT_STEPS.otherHost);
  }
  if (!isUntrusted(error) && code !== 'CERT_HAS_EXPIRED' && code !== 'CERT_NOT_YET_VALID') return undefined;
  const socket = (await openUnchecked().catch(() => undefined)) as TLSSocket | undefined;
  const certificate = socket?.getPeerCertificate(true);
  socket?.destroy();
  if (!certificate) return undefined;
  if (code === 'CERT_HAS_EXPIRED') return failure(`expired on ${certificate.valid_to}`, NEXT_STEPS.expired);
  if (code === 'CERT_NOT_YET_VALID')
    return failure(`is valid only from ${certificate.valid_from}`, NEXT_STEPS.notYet);
  if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT')
    return failure('is not trusted: it is self-signed', NEXT_STEPS.selfSigned, 'untrusted');
  const next = code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' ? NEXT_STEPS.leafAlone : undefined;
  return failure(`is not trusted: its authority is ${authority(certificate)}`, next, 'untrusted');
}

function authority(certificate: DetailedPeerCertificate): string {
  let last = certificate;
  while (last.issuerCertificate && last.issuerCertificate !== last) last = last.issuerCertificate;
  const { CN, O } = last.issuer;
  return `'${CN ?? O ?? 'one without a name'}'`;
}
