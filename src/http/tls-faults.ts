import { isLoopback } from '../settings/setting-names.ts';

interface ConnectionFault {
  readonly text: string;
  readonly next: string;
}

const CLIENT_CERTIFICATE =
  'ask its operator for an address that takes no client certificate: hooktrail sends none; a local proxy that adds one helps too';

const OFFER_HTTP_1 = 'ask its operator to offer HTTP/1.1 as well: hooktrail does not speak HTTP/2';

/** OpenSSL's codes for a server that requires a client certificate. */
const NO_CLIENT_CERTIFICATE =
  /ALERT_(CERTIFICATE_REQUIRED|BAD_CERTIFICATE|NO_CERTIFICATE|CERTIFICATE_UNKNOWN|UNKNOWN_CA|ACCESS_DENIED)$/;

/** Failures of a handshake by OpenSSL's codes, whose prefixes depend on its version. */
const TLS_FAULTS: readonly (readonly [codes: RegExp, fault: ConnectionFault])[] = [
  [NO_CLIENT_CERTIFICATE, { text: 'requires a client certificate', next: CLIENT_CERTIFICATE }],
  [
    /ALERT_(PROTOCOL_VERSION|INSUFFICIENT_SECURITY)$|UNSUPPORTED_PROTOCOL$|VERSION_TOO_LOW$/,
    {
      text: 'offers only TLS 1.1 or older, which is not secure',
      next: 'ask its operator to offer TLS 1.2 or 1.3; a TLS proxy on the way may be what is too old',
    },
  ],
  [
    /NO_APPLICATION_PROTOCOL$/,
    {
      text: 'does not offer HTTP/1.1 over TLS',
      next: OFFER_HTTP_1,
    },
  ],
  [
    /UNRECOGNIZED_NAME$/,
    { text: 'does not know this name', next: 'check the host name: the server has other names only' },
  ],
  [
    /ALERT_HANDSHAKE_FAILURE$|NO_SHARED_CIPHER$/,
    {
      text: 'refuses the TLS handshake',
      next: 'ask its operator what it requires: a client certificate, which hooktrail does not send, or other ciphers',
    },
  ],
  [
    /DH_KEY_TOO_SMALL$|EE_KEY_TOO_SMALL$|CA_KEY_TOO_SMALL$|_MD_TOO_WEAK$|LEGACY_RENEGOTIATION/,
    {
      text: 'offers TLS only with keys or methods that are too weak',
      next: 'ask its operator to renew its TLS setup',
    },
  ],
];

export function isLackOfCertificate(code: string): boolean {
  return NO_CLIENT_CERTIFICATE.test(code);
}

export function isPlainPeer(code: string): boolean {
  return /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|RECORD_LAYER_FAILURE|BAD_RECORD_TYPE)$|^EPROTO$/.test(
    code,
  );
}

/** Returns undefined for codes unrelated to TLS. */
export function tlsFault(code: string, url: URL): ConnectionFault | undefined {
  const known = TLS_FAULTS.find(([codes]) => codes.test(code))?.[1];
  if (known) return known;
  if (isPlainPeer(code)) return { text: 'does not speak TLS', next: nextForPlain(url) };
  if (!/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return undefined;
  return { text: 'does not give a trusted TLS connection', next: "check the URL and this machine's date" };
}

function nextForPlain(url: URL): string {
  return isLoopback(url)
    ? 'give the address with http:// in place of https://'
    : 'check the port: something without TLS answers there, such as plain HTTP';
}

export const SPEAKS_TLS: ConnectionFault = {
  text: 'speaks TLS, not plain HTTP',
  next: 'give the address with https:// in place of http://',
};

export function otherProtocol(start: string, url: URL): ConnectionFault | undefined {
  // A TLS alert (RFC 8446 section 5.1): the peer expected a handshake.
  if (start.startsWith('\x15\x03') && url.protocol === 'http:') return SPEAKS_TLS;
  // A SETTINGS frame on stream 0 (RFC 9113 section 3.4).
  if (/^\0\0.\x04.\0\0\0\0/s.test(start))
    return {
      text: 'answers only in HTTP/2',
      next: OFFER_HTTP_1,
    };
  return undefined;
}
