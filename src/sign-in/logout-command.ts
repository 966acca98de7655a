import type { Command } from 'commander';
import type { Call } from '../command.ts';
import type { SignOutFlags } from './sign-out.ts';

export const help = `
Deletes the tokens and the client secret that login stored on this machine, and
revokes the tokens if the identity provider offers that; otherwise a copied
access token stays valid until it expires. Addresses and client id are kept for
the next login; \`hooktrail profiles delete NAME\` deletes them too. --all also
deletes the saved Api-Tokens.`;

export const examples = [
  'hooktrail logout',
  'hooktrail logout --profile staging',
  'hooktrail logout --all --yes',
];

export function declare(command: Command): void {
  command.option('--all', 'sign out of every profile').option('--yes', 'do not ask before --all');
}

export async function run({ flags, context, reporter }: Call<SignOutFlags>): Promise<void> {
  const { logout } = await import('./sign-out.ts');
  await logout(flags, context, reporter);
}
