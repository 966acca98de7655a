import type { Context } from '../context.ts';
import { wrapWords } from '../terminal/cell-width.ts';
import { withPager } from '../terminal/paged-output.ts';
import {
  DESCRIPTION,
  EXAMPLES,
  GLOBAL_FLAGS,
  HELP_FLAG,
  HIDDEN,
  MAX_USED,
  type Node,
  type Nodes,
  tree,
  VERSION_FLAG,
} from './command-tree.ts';
import { alignedColumns, firstClauses, flagText } from './help-text.ts';

/** Columns of the widest help: longer lines are hard to read. */
const WIDEST_HELP_COLUMNS = 120;

export async function printProgramHelp(argv: readonly string[], context: Context): Promise<void> {
  const width = helpWidth(context);
  const head = `Usage: hooktrail [options] [command]\n\n${wrapWords(DESCRIPTION, width).join('\n')}\n\n`;
  const examples = `${EXAMPLES.map((example) => `  $ ${example}\n`).join('')}\n`;
  const text = wantsShortHelp(argv)
    ? `${mostUsedCommands(width)}\n${examples}hooktrail --help shows all commands\n`
    : `Examples:\n${examples}${allCommandsAndFlags(width)}`;
  await printHelp(`${head}${text}`, argv, context);
}

export function wantsShortHelp(argv: readonly string[]): boolean {
  return argv.includes('-h') && !argv.includes('--help');
}

/** Help in a pager goes to a pipe; standard error is still the terminal. */
export function helpWidth({ stdout, stderr }: Pick<Context, 'stdout' | 'stderr'>): number {
  return Math.min([stdout, stderr].find(({ isTerminal }) => isTerminal)?.columns ?? 80, WIDEST_HELP_COLUMNS);
}

export async function printHelp(text: string, argv: readonly string[], context: Context): Promise<void> {
  if (argv.includes('--no-pager')) return await context.stdout.write(text);
  await withPager(context, ({ stdout }) => stdout.write(text));
}

function allCommandsAndFlags(width: number): string {
  const groups = Object.entries(tree)
    .filter(([heading]) => heading !== HIDDEN)
    .map(([heading, nodes]) => ({
      heading,
      rows: Object.entries(nodes).map(([name, [summary]]) => [name, summary] as const),
    }));
  const flags = [VERSION_FLAG, ...GLOBAL_FLAGS, HELP_FLAG].map(
    ({ flags, text, ...facts }) => [flags, flagText(text, facts)] as const,
  );
  const lines = alignedColumns([...groups.flatMap(({ rows }) => rows), ...flags], width);
  const commands = groups.map(({ heading, rows }) => `${heading}\n${lines.splice(0, rows.length).join('')}`);
  return `${commands.join('')}\nOptions:\n${lines.join('')}`;
}

function mostUsedCommands(width: number): string {
  const nodes: Nodes = Object.assign({}, ...Object.values(tree));
  const longest = Math.max(...MAX_USED.map((path) => path.length));
  const rows = MAX_USED.map((path) => {
    let node: Node = ['', nodes];
    for (const word of path.split(' ')) node = (node[1] as Nodes)[word] as Node;
    return [path, firstClauses(node[0], width - longest - 4)] as const;
  });
  return alignedColumns(rows, width).join('');
}
