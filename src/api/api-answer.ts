import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import type { Call } from '../command.ts';
import type { Output } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { printItem } from '../formats/item-writer.ts';
import { apiUrl, mediaType, serviceError } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import { Items } from '../items/items.ts';
import { withService } from '../sign-in/session.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';

/** A request to a path of the service, and how its answer is printed. */
export interface ApiRequest {
  /** The path under the base URL, or a whole URL there. */
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  /** True to print the status line and the headers before the body. */
  readonly include: boolean;
  readonly jq: string | undefined;
}

/**
 * Sends the request and prints the answer unchanged, or on a terminal with its JSON indented and coloured and
 * a final line end. With `jq`, prints the program's results; throws `ServiceError` if the answer is not JSON.
 * The body of an unsuccessful answer is printed, too, before `serviceError` is thrown.
 */
export async function printApiAnswer(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { path, method, headers, body, include, jq }: ApiRequest,
): Promise<void> {
  const { stdout } = call.context;
  await withService(call, async (service, { vendor }) => {
    const url = apiUrl(service.baseUrl, path);
    // Bodies go as answers come: with the vendor's media type (service description, part 9).
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': mediaType(vendor) };
    const answer = await service.send({ url, method, headers: { ...type, ...headers }, body });
    const isError = answer.status < 200 || answer.status >= 300;
    if (include) await stdout.write(textFor(stdout, headerText(answer)));
    // A jq program expects a successful answer.
    await printBody(answer.body, isError ? undefined : jq, call);
    if (!isError) return;
    if (!stdout.isTerminal && answer.body.length > 0 && answer.body.at(-1) !== 0x0a) await stdout.write('\n');
    const ifNotFound = `check the path: the service has nothing at ${url.origin}${url.pathname}`;
    throw serviceError(answer, `${method} ${url.pathname}`, { ifNotFound });
  });
}

async function printBody(
  body: Buffer,
  jq: string | undefined,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
): Promise<void> {
  const { stdout } = context;
  if (jq === undefined && !stdout.isTerminal) return await stdout.write(body);
  if (isJson(body)) return await printItem(Items.of([body]), jq, context, reporter, body);
  if (jq !== undefined) throw new ServiceError('--jq: the answer is not JSON');
  const text = textFor(stdout, body.toString());
  await stdout.write(text === '' || text.endsWith('\n') ? text : `${text}\n`);
}

function textFor({ isTerminal }: Output, text: string): string {
  return isTerminal ? terminalSafe(text.replaceAll('\r\n', '\n')) : text;
}

/** As `curl --include` shows them. */
function headerText({ status, headers }: HttpResponse): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}`),
  );
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd(), ...lines, '', ''].join('\r\n');
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return isUtf8(body);
  } catch {
    return false;
  }
}
