import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';

type Surroundings = Pick<Context, 'environment' | 'stdin' | 'stderr' | 'signal'>;

/** By the input it came from: a command that opens several files, or one again, asks its user once. */
const answers = new WeakMap<Context['stdin'], Promise<string>>();

/**
 * The passphrase of the encrypted file: `HOOKTRAIL_PASSPHRASE`, or a hidden prompt, asked twice for a new file.
 * Spaces around it do not count, and letters that look alike are the same (NFKC). Throws `UsageError` where there is neither.
 */
export async function askPassphrase(context: Surroundings, isNew: boolean): Promise<string> {
  const given = context.environment['HOOKTRAIL_PASSPHRASE']?.trim();
  if (given) return given.normalize('NFKC');
  const answer = answers.get(context.stdin) ?? promptPassphrase(context, isNew);
  answers.set(context.stdin, answer);
  return await answer;
}

async function promptPassphrase(context: Surroundings, isNew: boolean): Promise<string> {
  const { canPrompt, promptSecret } = await import('../terminal/prompt.ts');
  if (!canPrompt(context)) {
    throw new UsageError('the encrypted file of secrets needs a passphrase', {
      next: 'set HOOKTRAIL_PASSPHRASE, or run the command on a terminal',
    });
  }
  let message = isNew ? 'New passphrase for the encrypted file' : 'Passphrase of the encrypted file';
  for (;;) {
    const passphrase = await promptSecret(message, context);
    if (!isNew || (await promptSecret('The same passphrase again', context)) === passphrase) {
      return passphrase.normalize('NFKC');
    }
    message = 'The two differ. New passphrase for the encrypted file';
  }
}
