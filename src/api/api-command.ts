import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { faultText, UsageError } from '../errors.ts';
import { readGivenFile } from '../files/whole-files.ts';
import { addOutputFileFlag, checkFormat, jqFlag } from '../formats/format-flags.ts';
import { oneOf } from '../settings/flag-values.ts';
import { Flag, listFlag } from '../settings/flags.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';

interface Flags extends SettingFlags {
  readonly method?: string;
  readonly input?: string;
  readonly header?: string[];
  readonly include?: true;
  readonly jq?: string;
}

const FIXED_HEADERS = ['host', 'connection', 'content-length', 'transfer-encoding'];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export const help = `
Prints the body unchanged; on a terminal JSON is indented and coloured. If the
service answers with an error, its body is printed too, with a line end, and the
exit code is 1.`;

export const examples = [
  'hooktrail api /event-types',
  "hooktrail api '/integrator-events?eq(publishStatus,FAILED)&limit(1,1)'",
  "hooktrail api /event-types --jq '.items[].eventType'",
  'hooktrail api /subscriptions --input subscription.json',
];

export function declare(command: Command): void {
  command
    .argument('<path>', "a path under the event service's base URL, with its query, such as '/event-types'")
    .addOption(
      new Flag(
        '-X, --method <method>',
        'the request method',
        { preset: 'GET, or POST with --input' },
        oneOf('--method', METHODS),
      ),
    )
    .option('--input <file>', 'send this file as the body; - is standard input')
    .addOption(listFlag('-H, --header <name: value>', 'add a header (repeatable)'))
    .option('-i, --include', 'print status line and headers of the answer first')
    .addOption(jqFlag(command, 'the JSON of the answer'))
    .hook('preAction', checkFormat);
  addOutputFileFlag(command);
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, args, context } = call;
  const { input, header = [], include = false, jq } = flags;
  const request = {
    path: args[0] as string,
    headers: parseHeaders(header),
    method: flags.method ?? (input === undefined ? 'GET' : 'POST'),
    ...{ include, jq },
  };
  const { printApiAnswer } = await import('./api-answer.ts');
  const body = input === undefined ? undefined : await inputBody(input, context);
  await printApiAnswer(call, { ...request, body });
}

async function inputBody(file: string, { stdin, signal }: Call['context']): Promise<Buffer> {
  if (file === '-') return stdin.bytes();
  try {
    return await readGivenFile(file, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`--input: ${file} cannot be read: ${faultText(error)}`, { cause: error });
  }
}

function parseHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    // A token of RFC 9110 section 5.6.2, and a value without anything that could start another header.
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/.exec(line);
    if (!match) throw new UsageError(`--header: invalid value '${line}': must be 'name: value'`);
    const name = (match[1] as string).toLowerCase();
    if (name === 'authorization') {
      throw new UsageError('--header: the Authorization header is set by hooktrail', {
        next: 'give a token of your own in HOOKTRAIL_ACCESS_TOKEN',
      });
    }
    // Behind a shared proxy, another Host header would reach another service, which must not see the token.
    if (FIXED_HEADERS.includes(name)) throw new UsageError(`--header: ${name} follows from the request`);
    headers[name] = (match[2] as string).replace(/^[ \t]+/, '');
  }
  return headers;
}
