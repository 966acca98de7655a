import type { Context } from '../context.ts';
import { Items } from '../json/items.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';

/**
 * Prints a value made by the program as JSON: indented and coloured on a terminal, elsewhere as `piped`. With `jq`,
 * prints the program's results.
 */
export async function printJson(
  value: unknown,
  jq: string | undefined,
  { stdout }: Pick<Context, 'stdout'>,
  reporter: Reporter,
  piped = jsonText(value),
): Promise<void> {
  const items = Items.of([Buffer.from(JSON.stringify(value))]);
  if (jq !== undefined) {
    const { createJqWriter } = await import('./jq-items.ts');
    const writer = await createJqWriter({ program: jq, fields: undefined, perItem: true }, stdout, reporter);
    await writer.write(items);
    await writer.end();
  } else if (stdout.isTerminal) {
    const { createPrettyWriter } = await import('./pretty-json.ts');
    await createPrettyWriter(stdout, await paletteOf(reporter.stdoutColor)).write(items);
  } else {
    await stdout.write(`${piped}\n`);
  }
}

/** A flat object on one line, anything deeper indented. */
function jsonText(value: unknown): string {
  const nested = Object.values(value as object).some(
    (member) => member !== null && typeof member === 'object',
  );
  return JSON.stringify(value, undefined, nested ? 2 : undefined);
}
