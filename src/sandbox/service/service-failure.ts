import type { Issue } from '../shapes/service-shape.ts';

export class ServiceFailure extends Error {
  readonly status: number;
  readonly issues: readonly Issue[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    issues: Issue | readonly Issue[],
    headers: Readonly<Record<string, string>> = {},
  ) {
    const all = [issues].flat();
    super(all.map(({ message }) => message).join('; '));
    this.status = status;
    this.issues = all;
    this.headers = headers;
  }
}
