import type { HooktrailError } from '../errors.ts';
import { type HttpResponse, TransportError } from '../http/transport.ts';

/** The fate of a request that changes something, and is sent once. */
export type RequestFate =
  | { readonly kind: 'done'; readonly answer: HttpResponse }
  /** Without an answer if the request was never sent. */
  | { readonly kind: 'refused'; readonly answer?: HttpResponse; readonly error: HooktrailError }
  /** The request may have been carried out. */
  | { readonly kind: 'unknown'; readonly error: HooktrailError };

/** `errorOf`: returns the error for an answer other than success. */
export function fateOf(
  answer: HttpResponse | HooktrailError,
  errorOf: (answer: HttpResponse) => HooktrailError,
): RequestFate {
  if (answer instanceof Error)
    return isAnswerLost(answer) ? { kind: 'unknown', error: answer } : { kind: 'refused', error: answer };
  if (isDone(answer)) return { kind: 'done', answer };
  const error = errorOf(answer);
  // A server or a proxy failed, perhaps after the change.
  if (answer.status >= 500 || answer.status === 408) return { kind: 'unknown', error };
  return { kind: 'refused', answer, error };
}

export function isDone({ status }: Pick<HttpResponse, 'status'>): boolean {
  return status >= 200 && status < 300;
}

function isAnswerLost({ cause }: HooktrailError): boolean {
  return cause instanceof TransportError && (cause.ambiguous || cause.kind === 'too-large');
}
