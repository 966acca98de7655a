import { hash, timingSafeEqual } from 'node:crypto';

/**
 * Compares an `Api-Token` header with the expected one (service description, part 5). Hashes are compared, so that the time
 * tells neither how much of the token is right nor how long it is.
 */
export function tokenCheck(expected: string): (given: string | undefined) => boolean {
  const right = digest(expected);
  return (given) => given !== undefined && timingSafeEqual(digest(given), right);
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
