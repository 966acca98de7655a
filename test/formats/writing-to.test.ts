import { execFileSync } from 'node:child_process';
import fs, { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, lstat, mkdir, open, stat, symlink } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Context } from '../../src/context.ts';
import { InterruptedError } from '../../src/errors.ts';
import { writingTo } from '../../src/formats/output-file.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { changeOpened } from '../support/opened-files.ts';

const at = forEachTest(createHome);
const place = (name: string) => path.join(at.folder, name);
const left = () => readdirSync(at.folder).sort();
const textOf = (name: string) => readFileSync(place(name), 'utf8');
const faultOf = (code: string, message: string) =>
  Object.assign(new Error(`${code}: ${message}, open '/x'`), { code, syscall: 'open' });

/** A context that keeps what is to be done when the process ends. */
function createExiting(parts: Partial<Context> = {}) {
  const atExit = new Set<() => void>();
  const context = createContext({
    ...parts,
    atExit: (work) => {
      atExit.add(work);
      return () => atExit.delete(work);
    },
  });
  return { context, atExit };
}
const write = (name: string, text: string, context = createContext()) =>
  writingTo(place(name), context, async ({ stdout }) => await stdout.write(text));

describe('a result that goes to a file', () => {
  test('replaces it as a whole when the work is done, whose result is returned', async () => {
    writeFileSync(place('out'), 'old');
    const { context, atExit } = createExiting();
    const result = await writingTo(place('out'), context, async ({ stdout, ...others }) => {
      await stdout.write('new');
      expect(stdout).toMatchObject({ isTerminal: false, isPipe: false });
      expect(others.machine).toBe(context.machine);
      expect([textOf('out'), left().length, atExit.size]).toEqual(['old', 2, 1]);
      await stdout.write(Buffer.from(' text'));
      return 7;
    });
    expect([result, textOf('out'), left(), atExit.size]).toEqual([7, 'new text', ['out'], 0]);
  });

  test('leaves nothing beside the old file if the process ends at once', async () => {
    writeFileSync(place('out'), 'old');
    const { context, atExit } = createExiting();
    const work = async () => {
      for (const end of atExit) end();
      expect(left()).toEqual(['out']);
      // Another may have removed it.
      for (const end of atExit) end();
      throw new Error('ended');
    };
    await expect(writingTo(place('out'), context, work)).rejects.toThrow('ended');
    expect([textOf('out'), left()]).toEqual(['old', ['out']]);
  });

  test('leaves the old file after a failure, and after an interrupt that the work overlooked', async () => {
    writeFileSync(place('out'), 'old');
    const { context, atExit } = createExiting();
    const failure = new Error('halfway');
    const failing = writingTo(place('out'), context, async ({ stdout }) => {
      await stdout.write('new');
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    const abort = new AbortController();
    const interrupt = new InterruptedError('SIGINT');
    const overlooking = writingTo(place('out'), { ...context, signal: abort.signal }, async ({ stdout }) => {
      await stdout.write('new');
      abort.abort(interrupt);
    });
    await expect(overlooking).rejects.toBe(interrupt);
    expect([textOf('out'), left(), atExit.size]).toEqual(['old', ['out'], 0]);
  });

  test('leaves the old file if it cannot be stored', async () => {
    writeFileSync(place('out'), 'old');
    const fault = faultOf('ENOSPC', 'no space left on device');
    changeOpened((handle, file) => {
      if (file.endsWith('.tmp')) vi.spyOn(handle, 'sync').mockRejectedValue(fault);
    });
    await expect(write('out', 'new')).rejects.toMatchObject({
      message: `--output-file: ${place('out')} cannot be written: no space left on device (ENOSPC)`,
      next: 'free some space, or name another file',
      exitCode: 1,
      cause: fault,
    });
    expect([textOf('out'), left()]).toEqual(['old', ['out']]);
  });

  test('has the modes of a redirection: those of the old file, or by the umask', async () => {
    const modeOf = async (name: string) => (await stat(place(name))).mode & 0o7777;
    writeFileSync(place('out'), 'old');
    await chmod(place('out'), 0o4640);
    await write('out', 'new');
    expect([await modeOf('out'), textOf('out')]).toEqual([0o640, 'new']);
    const umask = process.umask(0o027);
    onTestFinished(() => void process.umask(umask));
    await write('fresh', 'new');
    expect(await modeOf('fresh')).toBe(0o640);
  });

  test('needs no mode where the file system has none', async () => {
    writeFileSync(place('out'), 'old');
    changeOpened((handle) => vi.spyOn(handle, 'chmod').mockRejectedValue(faultOf('EPERM', 'not permitted')));
    await write('out', 'new');
    expect(textOf('out')).toBe('new');
  });

  test('replaces the file that a link names, and keeps the link', async () => {
    await symlink('out', place('link'));
    await write('link', 'new');
    expect([(await lstat(place('link'))).isSymbolicLink(), textOf('out')]).toEqual([true, 'new']);
  });

  test.each(['-', '/dev/stdout'])('goes to standard output if the file is %s', async (file) => {
    process.chdir(at.folder);
    const context = createContext();
    expect(await writingTo(file, context, async (given) => given)).toBe(context);
    expect(left()).toEqual([]);
  });
});

describe('a pipe that is named as the file', () => {
  test('is written to, as slowly as its reader wants it, and not replaced', async () => {
    execFileSync('mkfifo', [place('pipe')]);
    // Such an end waits for no other.
    await using reader = await open(place('pipe'), 'r+');
    const { context, atExit } = createExiting();
    const text = `first,${'x'.repeat(5_000)}`;
    await writingTo(place('pipe'), context, async ({ stdout }) => {
      expect(stdout).toMatchObject({ isTerminal: false, isPipe: true });
      await stdout.write('first,');
      await stdout.write('x'.repeat(5_000));
      for (const end of atExit) end();
    });
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(10_000));
    expect(buffer.toString('utf8', 0, bytesRead)).toBe(text);
    expect([(await lstat(place('pipe'))).isFIFO(), left(), atExit.size]).toEqual([true, ['pipe'], 0]);
  });
});

describe('a file that cannot be written is refused before the work begins', () => {
  const refusal = async (file: string, name?: string) => {
    const work = async () => expect.unreachable('the work began');
    return await writingTo(file, createContext(), work, name).then(
      () => undefined,
      (error) => ({ message: error.message, next: error.next, exitCode: error.exitCode, cause: error.cause }),
    );
  };
  const next = 'name a file in a folder that exists and can be written';

  test('a folder', async () => {
    await mkdir(place('folder'));
    expect(await refusal(place('folder'))).toMatchObject({
      message: `--output-file: ${place('folder')} is a folder`,
      next: 'name a file in it',
      exitCode: 2,
    });
    expect(left()).toEqual(['folder']);
  });

  test('in a folder that does not exist, or is none', async () => {
    expect(await refusal(place('none/out'), 'the report')).toMatchObject({
      message: `the report: ${place('none/out')} cannot be written: its folder does not exist`,
      next,
      exitCode: 2,
      cause: { code: 'ENOENT' },
    });
    writeFileSync(place('file'), '');
    expect(await refusal(place('file/out'))).toMatchObject({
      message: `--output-file: ${place('file/out')} cannot be written: not a directory (ENOTDIR)`,
      next,
    });
  });

  test('a file that the user may only read', async () => {
    writeFileSync(place('out'), 'old');
    const spy = vi
      .spyOn(fs.promises, 'access')
      .mockImplementation((_, mode) =>
        mode === fs.constants.W_OK
          ? Promise.reject(faultOf('EACCES', 'permission denied'))
          : Promise.resolve(),
      );
    // It is imported by its name.
    syncBuiltinESMExports();
    onTestFinished(() => {
      spy.mockRestore();
      syncBuiltinESMExports();
    });
    expect(await refusal(place('out'))).toMatchObject({
      message: `--output-file: ${place('out')} cannot be written: permission denied (EACCES)`,
      next,
      exitCode: 2,
    });
    expect([textOf('out'), left()]).toEqual(['old', ['out']]);
    // A new file needs no right of its own.
    await write('fresh', 'new');
  });

  test('on a full disk, which is no mistake of the command line', async () => {
    const spy = vi.spyOn(fs.promises, 'open').mockRejectedValue(faultOf('ENOSPC', 'no space left on device'));
    onTestFinished(() => spy.mockRestore());
    expect(await refusal(place('out'))).toMatchObject({
      message: `--output-file: ${place('out')} cannot be written: no space left on device (ENOSPC)`,
      next: 'make room, and run the command again',
      exitCode: 1,
    });
  });

  test('a socket, which is not replaced', async () => {
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(place('socket'), resolve));
    onTestFinished(() => void server.close());
    expect((await refusal(place('socket')))?.message).toMatch(/cannot be written: .* \(ENXIO\)$/);
    expect((await lstat(place('socket'))).isSocket()).toBe(true);
  });
});
