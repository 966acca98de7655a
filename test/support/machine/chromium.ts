import { type Browser, chromium, type Page } from 'playwright-core';
import { available, chromiumPath, toolEnv } from './requirement.ts';

export const hasChromium = available('Chromium');

export function launchChromium(): Promise<Browser> {
  const offline = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({
    executablePath: chromiumPath,
    env: toolEnv,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', ...offline],
  });
}

/** Things that a page should not do: requests other than for its own file, and errors on its console. */
export function watchPage(page: Page): { requests: string[]; errors: string[] } {
  const seen = { requests: [] as string[], errors: [] as string[] };
  page.on('request', (request) => seen.requests.push(request.url()));
  page.on('console', (message) => {
    if (message.type() !== 'log') seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(error.message));
  return seen;
}
