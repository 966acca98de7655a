import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import type { Call } from '../command.ts';
import type { Output } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { apiUrl, serviceError } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import { Items } from '../json/items.ts';
import { JsonScanner, JsonSyntaxError } from '../json/json-scanner.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';
import { createJqWriter } from './jq.ts';
import { createPrettyWriter } from './json.ts';

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
 * Sends the request and prints the answer unchanged, or on a terminal with its JSON indented and coloured and a final
 * line end. With `jq`, prints the program's results; throws `ServiceError` if the answer is not JSON. The body of an
 * unsuccessful answer is printed, too, before `serviceError` is thrown.
 */
export async function printApiAnswer(
  call: Pick<Call<SettingFlags>, 'flags' | 'context' | 'reporter'>,
  { path, method, headers, body, include, jq }: ApiRequest,
): Promise<void> {
  const { stdout } = call.context;
  await withService(call, async (service) => {
    const url = apiUrl(service.baseUrl, path);
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await service.send({ url, method, headers: { ...type, ...headers }, body });
    const isError = answer.status < 200 || answer.status >= 300;
    if (include) await stdout.write(textFor(stdout, headerText(answer)));
    // A jq program expects a successful answer.
    if (!isError && jq !== undefined) return await printResults(answer.body, jq, stdout, call.reporter);
    await printBody(answer.body, stdout, call.reporter);
    if (!isError) return;
    if (!stdout.isTerminal && answer.body.length > 0 && answer.body.at(-1) !== 0x0a) await stdout.write('\n');
    const next = `check the path: the service has nothing at ${url.origin}${url.pathname}`;
    throw serviceError(answer, `${method} ${url.pathname}`, next);
  });
}

async function printResults(body: Buffer, jq: string, stdout: Output, reporter: Reporter): Promise<void> {
  const value = jsonIn(body);
  if (!value) throw new ServiceError('--jq: the answer is not JSON');
  const writer = await createJqWriter({ program: jq, fields: undefined, perItem: true }, stdout, reporter);
  await writer.write(value);
  await writer.end();
}

async function printBody(body: Buffer, stdout: Output, reporter: Reporter): Promise<void> {
  if (body.length === 0) return;
  if (!stdout.isTerminal) return await stdout.write(body);
  const value = jsonIn(body);
  if (value) return await createPrettyWriter(stdout, await paletteOf(reporter.stdoutColor)).write(value);
  const text = textFor(stdout, body.toString());
  await stdout.write(text.endsWith('\n') ? text : `${text}\n`);
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

/** The body as one JSON value without white space between tokens; undefined if it is not JSON. */
function jsonIn(body: Buffer): Items | undefined {
  if (!isUtf8(body)) return undefined;
  const scanner = new JsonScanner(body);
  try {
    const start = scanner.space(0);
    const end = scanner.value(start);
    if (scanner.space(end) !== body.length) return undefined;
    return new Items(body, [start, end]).compacted();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
