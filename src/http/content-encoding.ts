import { promisify } from 'node:util';
import { TransportError } from './transport-error.ts';

/** More than any page of 500 events needs, and little enough that a hostile answer cannot fill the memory. */
const MAX_DECODED_BYTES = 256 * 1024 * 1024;

/** A body with its `Content-Encoding` undone (RFC 9110 section 8.4). Throws `TransportError` where it is cut or damaged. */
export async function decoded(body: Buffer, encoding: string | string[] | undefined): Promise<Buffer> {
  const coding = String(encoding ?? 'identity')
    .trim()
    .toLowerCase();
  if (coding === 'identity' || coding === '' || body.length === 0) return body;
  const zlib = await import('node:zlib');
  const options = { maxOutputLength: MAX_DECODED_BYTES };
  try {
    if (coding === 'gzip' || coding === 'x-gzip') return await promisify(zlib.gunzip)(body, options);
    if (coding === 'deflate')
      return await promisify(hasZlibHeader(body) ? zlib.inflate : zlib.inflateRaw)(body, options);
    if (coding === 'br') return await promisify(zlib.brotliDecompress)(body, options);
  } catch (cause) {
    throw new TransportError('broken', `the ${coding} body of the answer is cut or damaged`, cause);
  }
  throw new TransportError(
    'broken',
    `the answer has the content encoding '${coding}', which was not asked for`,
  );
}

/** Some senders leave the zlib wrapper out (RFC 9110 section 8.4.1.2); its first two bytes tell (RFC 1950 section 2.2). */
function hasZlibHeader(body: Buffer): boolean {
  return body.length > 1 && ((body[0] as number) & 0x0f) === 8 && body.readUInt16BE() % 31 === 0;
}
