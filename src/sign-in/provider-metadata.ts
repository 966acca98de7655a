import type { Transport } from '../http/transport.ts';
import { urlText } from '../settings/setting-values.ts';
import { expectedOf } from './authorization.ts';
import type { BoundSettings } from './bound-settings.ts';

/** Endpoints that the identity provider offers beside those of the service description. */
export interface ProviderMetadata {
  /** RFC 8628. */
  readonly deviceAuthorization?: string;
  /** RFC 7009. */
  readonly revocation?: string;
}

/** Milliseconds and bytes for an answer that nobody has to have. */
export const METADATA_LIMITS = { connect: 5_000, idle: 5_000, total: 10_000, bytes: 1024 * 1024 };

/**
 * Reads the endpoints that the provider's metadata offers (RFC 8414 section 3, at the place of OpenID Connect Discovery 1.0
 * section 4). There are none without metadata, or where it names another issuer (RFC 8414 section 3.3). Endpoints elsewhere than on the provider's
 * origin count as not offered: the client secret goes nowhere else. Throws where the provider does not answer.
 */
export async function readMetadata(settings: BoundSettings, transport: Transport): Promise<ProviderMetadata> {
  const url = new URL(`${urlText(settings.authUrl)}/.well-known/openid-configuration`);
  const answer = await transport.send({ method: 'GET', url, headers: { accept: 'application/json' } });
  if (answer.status !== 200) return {};
  let metadata: Record<string, unknown>;
  try {
    metadata = Object(JSON.parse(answer.body.toString('utf8')));
  } catch {
    return {};
  }
  const { issuer, issuerAsTyped } = expectedOf(settings);
  if (issuer !== 'none' && metadata['issuer'] !== issuer && metadata['issuer'] !== issuerAsTyped) return {};
  const endpoint = (name: string) => {
    const text = metadata[name];
    if (typeof text !== 'string' || !URL.canParse(text)) return undefined;
    return new URL(text).origin === settings.authUrl.origin ? text : undefined;
  };
  const [device, revocation] = [endpoint('device_authorization_endpoint'), endpoint('revocation_endpoint')];
  return {
    ...(device === undefined ? {} : { deviceAuthorization: device }),
    ...(revocation === undefined ? {} : { revocation }),
  };
}
