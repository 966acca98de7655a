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
