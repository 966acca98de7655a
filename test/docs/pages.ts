import { access, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

/** A page for readers; `file` from the root. */
export interface Page {
  readonly file: string;
  readonly text: string;
  /** The text without its blocks of code. */
  readonly prose: string;
  /** The ids that GitHub generates for its headings. */
  readonly anchors: readonly string[];
}

/** The README, and every page of docs. */
export async function readPages(): Promise<Page[]> {
  const names = (await readdir(path.join(root, 'docs'))).filter((name) => name.endsWith('.md')).sort();
  return await Promise.all(
    ['README.md', 'CHANGELOG.md', ...names.map((name) => `docs/${name}`)].map(async (file) => {
      const text = await readFile(path.join(root, file), 'utf8');
      const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '');
      const anchors = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
      return { file, text, prose, anchors };
    }),
  );
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/** The blocks of code whose first line begins so, such as `sh` or `sh runs`. */
export function blocksOf({ text }: Pick<Page, 'text'>, kind: string): string[] {
  const blocks = [...text.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)];
  return blocks.filter(([, info = '']) => info === kind).map(([, , code = '']) => code);
}

export async function isThere(file: string): Promise<boolean> {
  return await access(path.join(root, file)).then(
    () => true,
    () => false,
  );
}
