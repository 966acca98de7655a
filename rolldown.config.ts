import { rmSync } from 'node:fs';
import { defineConfig } from 'rolldown';

export default defineConfig({
  input: { start: 'src/start.ts' },
  platform: 'node',
  // The keychain binding is native code: it stays a package of its own.
  external: ['keytar'],
  plugins: [
    {
      name: 'clean-output',
      // Chunks are named by their content: those of an earlier build would otherwise travel with the package.
      buildStart: () => rmSync('dist', { recursive: true, force: true }),
    },
  ],
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    minify: { mangle: false, compress: true },
  },
});
