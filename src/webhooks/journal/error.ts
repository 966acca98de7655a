import { type ErrorParts, ServiceError } from '../../errors.ts';

/** The journal can no longer be trusted, or cannot take what it has to: nothing may be acknowledged. */
export class JournalError extends ServiceError {
  /** False where the next attempt may well succeed: a disk that was full, an event that another process has. */
  readonly isFatal: boolean;

  constructor(message: string, parts: ErrorParts & { readonly isFatal?: boolean } = {}) {
    super(message, parts);
    this.isFatal = parts.isFatal ?? true;
  }
}
