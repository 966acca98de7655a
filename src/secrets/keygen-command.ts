import type { Command } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';

export const help = `
The key replaces a passphrase where nobody can type one: in cron jobs,
containers and CI. It opens the encrypted file at once, whereas a passphrase
takes a third of a second. Keep the key apart from the file that it opens. An
existing file is never overwritten. \`hooktrail config set passphrase-file\` or
HOOKTRAIL_PASSPHRASE_FILE gives the key to other commands; \`hooktrail login\`
changes a profile from a passphrase to a key, and back.`;

export const examples = [
  'hooktrail keygen ~/.hooktrail.key',
  'hooktrail keygen | pass insert --multiline hooktrail',
];

export function declare(command: Command): void {
  command.argument(
    '[file]',
    'a new file to write the key to, readable only by you; standard output when absent',
  );
}

export async function run({ args, context, reporter }: Call): Promise<void> {
  const [file] = args;
  if (file === undefined) {
    const { generateKey } = await import('./sealed-file.ts');
    return await context.stdout.write(`${generateKey()}\n`);
  }
  const { createKeyFile } = await import('./key-file.ts');
  await createKeyFile(file, context);
  reporter.notice(
    advise`wrote a new key to ${file}; use it with HOOKTRAIL_PASSPHRASE_FILE, or save it with ${hooktrail('config set passphrase-file', file)}`,
  );
}
