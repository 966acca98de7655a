/** The violations that a soak found. Each is printed when it is found. */
export class Verdict {
  readonly violations: string[] = [];
  /** The processes that the soak killed. */
  readonly killed = new Set<number>();

  violation(text: string): void {
    this.violations.push(text);
    console.log(`VIOLATION: ${text}`);
  }
}

/**
 * Returns the killed process that took the sign-in with it, as an error of a command names it: the service
 * gave it a new refresh token, which it did not live to store. Undefined for other errors.
 */
export function takerOfSignIn(stderr: string, { killed }: Verdict): number | undefined {
  const [, process] = /the sign-in may be lost: process (\d+) sent its refresh token/.exec(stderr) ?? [];
  return killed.has(Number(process)) ? Number(process) : undefined;
}
