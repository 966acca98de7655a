import type { ItemContext } from '../item-format.ts';
import type { Reporter } from '../reporter.ts';
import { terminalSafe } from '../terminal-safe.ts';

/** Prints one value of our own making as JSON on lines of its own, or what a jq program makes of it. */
export async function printJson(
  value: unknown,
  jq: string | undefined,
  context: ItemContext,
  reporter: Reporter,
): Promise<void> {
  if (jq === undefined) {
    const text = `${jsonText(value)}\n`;
    await context.stdout.write(context.stdout.isTerminal ? terminalSafe(text) : text);
    return;
  }
  const { createJqWriter } = await import('./jq-items.ts');
  const bytes = Buffer.from(JSON.stringify(value));
  const spans = Uint32Array.of(0, bytes.length);
  const writer = await createJqWriter(
    { program: jq, fields: undefined, perItem: true },
    context.stdout,
    reporter,
  );
  await writer.write({ bytes, spans, count: 1 });
  await writer.end();
}

/** A flat object on one line, anything deeper indented. */
function jsonText(value: unknown): string {
  const nested = Object.values(value as object).some(
    (member) => member !== null && typeof member === 'object',
  );
  return JSON.stringify(value, undefined, nested ? 2 : undefined);
}
