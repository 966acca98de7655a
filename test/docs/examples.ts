import type { Stage } from './stage.ts';

/**
 * Returns a page's text with every `console` block run again: each line `$ …`, and below it the command's
 * output.
 */
export async function withFreshOutput(page: string, stage: Stage): Promise<string> {
  const blocks = page.split(/(^```console\n[\s\S]*?^```$)/m);
  for (const [index, block] of blocks.entries()) {
    if (!block.startsWith('```console\n')) continue;
    const commands = block.split('\n').filter((line) => line.startsWith('$ '));
    const outputs = [];
    for (const command of commands) {
      const printed = await stage.print(command.slice(2));
      // CSV ends its lines with CR LF, which a page of Markdown cannot show.
      outputs.push(`${command}\n${printed.replaceAll('\r\n', '\n')}`);
    }
    blocks[index] = `\`\`\`console\n${outputs.join('\n')}\`\`\``;
  }
  return blocks.join('');
}

/** Removes what differs from run to run: random values, and times relative to now. */
export function withoutVolatile(text: string): string {
  return text
    .replace(/\b(state|code_challenge)=[\w-]+/g, '$1=…')
    .replace(/^(token +)(until|for|\d+ minutes) .*$/gm, '$1…')
    .replace(/~[0-9a-f]{16}\.vault/g, '~….vault');
}
