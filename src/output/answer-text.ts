import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import type { Output } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { HttpResponse } from '../http/transport.ts';
import { Items } from '../json/items.ts';
import { JsonScanner, JsonSyntaxError } from '../json/json-scanner.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-safe.ts';

interface AnswerOptions {
  /** True to print the status line and the headers before the body. */
  readonly include: boolean;
  readonly jq: string | undefined;
}

/**
 * Prints an answer of the service unchanged, or on a terminal with its JSON indented and coloured and a final line end.
 * With `jq`, prints the program's results; throws `ServiceError` if the answer is not JSON.
 */
export async function printAnswer(
  response: HttpResponse,
  { include, jq }: AnswerOptions,
  stdout: Output,
  reporter: Reporter,
): Promise<void> {
  const { body } = response;
  const shown = (text: string) => (stdout.isTerminal ? terminalSafe(text.replaceAll('\r\n', '\n')) : text);
  if (include) await stdout.write(shown(headerText(response)));
  if (jq !== undefined) {
    const value = jsonIn(body);
    if (!value) throw new ServiceError('--jq: the answer is not JSON');
    const { createJqWriter } = await import('./jq-items.ts');
    const writer = await createJqWriter({ program: jq, fields: undefined, perItem: true }, stdout, reporter);
    await writer.write(value);
    return await writer.end();
  }
  if (body.length === 0) return;
  if (!stdout.isTerminal) return await stdout.write(body);
  const value = jsonIn(body);
  if (value) {
    const { createPrettyWriter } = await import('./pretty-json.ts');
    return await createPrettyWriter(stdout, await paletteOf(reporter.stdoutColor)).write(value);
  }
  const text = shown(body.toString());
  await stdout.write(text.endsWith('\n') ? text : `${text}\n`);
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
