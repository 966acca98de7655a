import { TransportError } from './transport.ts';

/**
 * The user name and password of a proxy, for one run. They are not sent again after a refusal, since some
 * proxies lock an account after a few attempts. Until they are accepted, one tunnel is opened at a time.
 */
export class ProxySignIn {
  #lastTunnel: Promise<unknown> = Promise.resolve();
  #isAccepted = false;
  #refusal: TransportError | undefined;

  async open<Tunnel>(openTunnel: () => Promise<Tunnel>): Promise<Tunnel> {
    if (this.#isAccepted) return await this.#tryOnce(openTunnel);
    const tunnel = this.#lastTunnel.then(() => this.#tryOnce(openTunnel));
    this.#lastTunnel = tunnel.catch(() => undefined);
    return await tunnel;
  }

  async #tryOnce<Tunnel>(openTunnel: () => Promise<Tunnel>): Promise<Tunnel> {
    if (this.#refusal) throw this.#refusal;
    try {
      const tunnel = await openTunnel();
      this.#isAccepted = true;
      return tunnel;
    } catch (error) {
      if (error instanceof TransportError && error.kind === 'proxy-sign-in') this.#refusal = error;
      throw error;
    }
  }
}

/**
 * Returns the error for status 407: the next step depends on the schemes that the proxy offers (RFC 9110
 * section 11.7.1).
 */
export function proxySignInRefusal(
  proxy: URL,
  challenges: string | readonly string[] | undefined,
  hasCredentials: boolean,
): TransportError {
  const schemes = schemesOf([challenges ?? []].flat().join(','));
  const failure = (what: string, next?: string) =>
    new TransportError('proxy-sign-in', `the proxy ${proxy.host} ${what} (407)`, undefined, next);
  if (schemes.length > 0 && !schemes.some((scheme) => /^basic$/i.test(scheme)))
    return failure(
      `offers sign-in only by ${schemes.join(' and ')}`,
      'hooktrail signs in to a proxy only by user name and password (Basic): set HTTPS_PROXY to a local proxy that signs in to yours, such as cntlm or px, or name the host in NO_PROXY if it can be reached directly',
    );
  return failure(
    hasCredentials ? 'does not accept the user name and password' : 'requires a user name and a password',
  );
}

function schemesOf(challenges: string): readonly string[] {
  const parts = challenges.replace(/"[^"]*"/g, '""').split(',');
  return [...new Set(parts.flatMap((part) => /^\s*([a-z][\w-]*)(?!\s*=)(?=\s|$)/i.exec(part)?.[1] ?? []))];
}
