import { NotSignedInError } from '../../errors.ts';
import { urlText } from '../../settings/setting-names.ts';
import { canPrompt, confirm } from '../../terminal/prompt.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import {
  type AuthorizationAnswer,
  type AuthorizationRequest,
  authorizationUrl,
  checkResponse,
  createAuthorizationRequest,
  issuerText,
} from '../authorization.ts';
import type { ClientProof } from '../client-authentication.ts';
import { pastedBeside, receivePasted } from '../pasted-redirect.ts';
import { CHECK_ADDRESS, NEW_SIGN_IN } from '../provider-failure.ts';
import { promisesIssuer, requiredPushEndpoint } from '../provider-metadata.ts';
import {
  listenForRedirect,
  type PageName,
  type RefusedRequest,
  receiveRedirect,
} from '../redirect-listener.ts';
import { exchangeCode, type Provider, pushAuthorizationRequest, withProvider } from '../token-endpoint.ts';
import { announce, type OpenedRequest } from './announce-sign-in.ts';
import { keepGrant } from './keep-sign-in.ts';
import { type Attempt, OPTIONAL, refusal, type SignInSetup, withinTime } from './login-attempt.ts';

export async function signInByRedirect(setup: SignInSetup, attempt: Attempt): Promise<void> {
  const { settings } = setup;
  const { flags, context, reporter, lines } = attempt;
  const port = flags.paste ? undefined : await listenForRedirect(settings.redirectUri);
  try {
    const own = await createAuthorizationRequest(settings, port?.redirectUri ?? settings.redirectUri);
    const push = (provider: Provider) => pushIfRequired(own, provider, setup.proof);
    const request = await withProvider(settings, attempt, push, OPTIONAL);
    const reception = port && receiveRedirect(port, request, context.clock, refusalReporter(reporter));
    const answer = await withinTime(attempt, (signal, over) => {
      announce(request, attempt, over);
      const waiting = { ...context, signal };
      if (!reception) return receivePasted(request, waiting, lines, reporter);
      return canPrompt(context)
        ? pastedBeside(reception.answer, request, waiting, reporter)
        : reception.answer;
    });
    let page: PageName = answer.kind === 'code' ? 'failed' : answer.kind;
    try {
      const isUnnamed = answer.kind === 'foreign';
      const checked = isUnnamed ? await confirmUnnamed(answer, request, settings, attempt) : answer;
      if (checked.kind === 'refused') throw refusal(checked.error, checked.description);
      page = 'failed';
      const exchange = (provider: Provider) =>
        exchangeCode(provider, setup.proof, checked.parameters, request);
      const grant = await withProvider(settings, attempt, exchange, { advice: NEW_SIGN_IN });
      await keepGrant(grant, isUnnamed ? withoutIssuer(setup) : setup, attempt);
      page = 'signedIn';
    } finally {
      const named = page === 'foreign' && answer.kind === 'foreign' ? issuerText(answer.issuer) : undefined;
      await reception?.conclude(page, named);
    }
  } finally {
    port?.close();
  }
}

function refusalReporter(reporter: Reporter): (request: RefusedRequest) => void {
  const reported = new Set<string>();
  return ({ came, reason, isRedirect }) => {
    const line = `refused ${came}: ${reason}; login still waits`;
    if (!isRedirect || reported.has(reason)) return reporter.trace(line);
    reported.add(reason);
    reporter.warning(line, { kind: 'sign-in' });
  };
}

/**
 * Pushes the authorization request to the provider if its metadata requires that (RFC 9126), and returns a
 * request with a reference to it. Otherwise returns the request unchanged. Throws as `exchangeCode` does, and
 * `NotSignedInError` if the provider names no endpoint on its own origin.
 */
async function pushIfRequired(
  request: AuthorizationRequest,
  provider: Provider,
  proof: ClientProof,
): Promise<OpenedRequest> {
  const endpoint = await requiredPushEndpoint(provider);
  if (endpoint === undefined) return request;
  if (endpoint === 'none')
    throw new NotSignedInError('the identity provider requires pushed authorization requests', {
      details: ['its metadata names no pushed_authorization_request_endpoint of its own'],
      next: CHECK_ADDRESS,
    });
  const pushed = await pushAuthorizationRequest(provider, proof, endpoint, request.url.searchParams);
  // RFC 9126 section 4: the other parameters were pushed.
  const parameters = { client_id: provider.settings.clientId, request_uri: pushed.request_uri };
  const url = authorizationUrl(provider.settings, parameters);
  return { ...request, url, validSeconds: pushed.expires_in || undefined };
}

/**
 * Accepts an answer without an issuer, if the provider's metadata does not promise one (RFC 9207 section 2.4)
 * and a person at the terminal confirms it. Throws `NotSignedInError` for any other answer of a foreign
 * issuer.
 */
async function confirmUnnamed(
  { issuer, parameters }: Extract<AuthorizationAnswer, { kind: 'foreign' }>,
  request: AuthorizationRequest,
  settings: SignInSetup['settings'],
  attempt: Attempt,
): Promise<Exclude<AuthorizationAnswer, { kind: 'foreign' }>> {
  const { context, reporter } = attempt;
  const refused = new NotSignedInError(
    `the answer to the sign-in names ${issuerText(issuer)}, not ${request.issuer}`,
    {
      details: ['another provider may have answered in place of yours (a mix-up attack, RFC 9207)'],
      next:
        issuer === undefined
          ? 'if your provider names none, run the same command with --issuer none'
          : 'if that is your provider, give what it names with --issuer; otherwise check --auth-url',
    },
  );
  if (issuer !== undefined || !canPrompt(context)) throw refused;
  // Unreadable metadata may promise an issuer.
  if (await withProvider(settings, attempt, promisesIssuer, OPTIONAL).catch(() => true)) throw refused;
  const provider = urlText(settings.authUrl);
  reporter.say(
    `The answer to the sign-in does not name its provider, and ${provider} does not promise that.`,
  );
  await confirm(`Did you sign in at ${settings.authUrl.host}?`, context, refused);
  const answer = await checkResponse(parameters, { ...request, issuer: 'none' });
  if (answer.kind === 'stray' || answer.kind === 'foreign') throw refused;
  return answer;
}

function withoutIssuer({ settings, ...setup }: SignInSetup): SignInSetup {
  const given = { ...settings.given, issuer: { text: 'none', source: 'the answer to a question' } };
  return { ...setup, settings: { ...settings, issuer: 'none', given } };
}
