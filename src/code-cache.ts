import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import path from 'node:path';
import { Script } from 'node:vm';
import { makeFolder } from './config/make-folder.ts';
import type { Context } from './context.ts';

type Loader = (module: LoadedModule, filename: string) => void;
interface LoadedModule {
  exports: unknown;
  readonly loaded: boolean;
  require(id: string): unknown;
}

/** What `require` calls for a file, by its extension, and what it has loaded: Node's documented `require.extensions`, `require.cache`. */
const { _extensions: loaders, _cache: modules } = Module as unknown as {
  _extensions: Record<string, Loader>;
  _cache: Record<string, LoadedModule | undefined>;
};

const HEAD = '(function (exports, require, module, __filename, __dirname) { ';

/**
 * Does for our own chunks what `module.enableCompileCache` does in Node 22.1 and later: V8's compiled code is kept in
 * `folder` and found there by the next start. The chunks' names tell their content, which V8 itself does not look at.
 * Nothing here fails: without a folder, or with a damaged file in it, the code is compiled.
 */
export function keepCompiledCode(folder: string, atExit: Context['atExit']): void {
  const compiled: { name: string; script: Script }[] = [];
  loaders['.cjs'] = (module, filename) => {
    const name = path.basename(filename);
    const cachedData = readCode(path.join(folder, name));
    const script = new Script(`${HEAD}${readFileSync(filename, 'utf8')}\n})`, {
      filename,
      columnOffset: -HEAD.length,
      ...(cachedData ? { cachedData } : {}),
    });
    if (!cachedData || script.cachedDataRejected) compiled.push({ name, script });
    const run = script.runInThisContext();
    const folderOfChunk = path.dirname(filename);
    const require = (id: string) => {
      // Looking a file up on the disk takes Node longer than the rest of it; most chunks need what is loaded already.
      const known = id.startsWith('.') ? modules[path.join(folderOfChunk, id)] : undefined;
      return known?.loaded ? known.exports : module.require(id);
    };
    run.call(module.exports, module.exports, require, module, filename, folderOfChunk);
  };
  atExit?.(() => {
    try {
      if (compiled.length > 0) makeFolder(folder);
      // By now the code holds the functions that this run compiled when it came to them.
      for (const { name, script } of compiled) writeCode(path.join(folder, name), script.createCachedData());
    } catch {}
  });
}

/** Length and checksum stand in front, since V8 runs damaged code without looking; eight bytes keep the code aligned. */
const HEADER = 8;

function readCode(file: string): Buffer | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return undefined;
  }
  const code = bytes.subarray(HEADER);
  const isWhole = bytes.length > HEADER && bytes.readUInt32LE(4) === code.length;
  return isWhole && checksum(code) === bytes.readInt32LE() ? code : undefined;
}

function writeCode(file: string, code: Buffer): void {
  const header = Buffer.alloc(HEADER);
  header.writeInt32LE(checksum(code));
  header.writeUInt32LE(code.length, 4);
  const temporary = `${file}.${Math.random().toString(36).slice(2)}`;
  try {
    writeFileSync(temporary, Buffer.concat([header, code]), { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    // The next start compiles again, and tries again.
    rmSync(temporary, { force: true });
  }
}

/** FNV-1a over words of four bytes; V8 hands out whole words. */
function checksum(bytes: Buffer): number {
  let sum = 0x811c9dc5;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  for (let index = 0; index < words.length; index++) {
    sum = Math.imul(sum ^ (words[index] as number), 0x01000193);
  }
  return sum;
}
