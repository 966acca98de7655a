import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { faultText, ServiceError, UsageError } from '../errors.ts';

export const help = `
The key replaces a passphrase where nobody can type one: in cron jobs,
containers and CI. It opens the encrypted file at once, whereas a passphrase
takes a third of a second. Keep the key apart from the file that it opens. An
existing file is never overwritten. HOOKTRAIL_PASSPHRASE or
HOOKTRAIL_PASSPHRASE_FILE gives the key to other commands; \`hooktrail login\`
changes a profile from a passphrase to a key, and back.

Examples:
  $ hooktrail keygen ~/.hooktrail.key
  $ hooktrail keygen | pass insert --multiline hooktrail`;

export function declare(command: Command): void {
  command.argument(
    '[file]',
    'a new file to write the key to, readable only by you; standard output when absent',
  );
}

export async function run({ args, context, reporter }: Call): Promise<void> {
  const { generateKey } = await import('./encrypted-file.ts');
  const [file] = args;
  if (file === undefined) return await context.stdout.write(`${generateKey()}\n`);
  const { createFile, UnsyncedError } = await import('../files/whole-files.ts');
  const { refusePlanted } = await import('../files/folders.ts');
  refusePlanted(file, 'the key', context.machine);
  try {
    await createFile(file, `${generateKey()}\n`);
  } catch (error) {
    const message = faultText(error);
    if (error instanceof UnsyncedError) {
      throw new ServiceError(`the key is in ${file}, but a loss of power could lose it: ${message}`, {
        next: 'copy it to another disk before something is sealed with it',
        cause: error,
      });
    }
    throw (error as NodeJS.ErrnoException).code === 'EEXIST'
      ? new UsageError(`${file} exists already, and is left as it is`, {
          next: 'name a new file, or remove that one if nothing is sealed with its key',
        })
      : new UsageError(`the key cannot be written to ${file}: ${message}`, {
          next: 'name a file in a folder that exists and can be written',
          cause: error,
        });
  }
  reporter.notice(`wrote a new key to ${file}; use it with HOOKTRAIL_PASSPHRASE_FILE`);
}
