import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Compares an `Api-Token` header with the expected one (service description, part 5). Hashes are compared, so that the time
 * tells neither how much of the token is right nor how long it is.
 */
export function tokenCheck(expected: string): (given: string | undefined) => boolean {
  const hash = digest(expected);
  return (given) => given !== undefined && timingSafeEqual(digest(given), hash);
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
