import {
  type Branch,
  DESCRIPTION,
  EXAMPLES,
  GLOBAL_FLAGS,
  HELP_FLAG,
  type Leaf,
  MOST_USED,
  tree,
  VERSION_FLAG,
} from './command-tree.ts';
import type { Context } from './context.ts';
import { alignedColumns, firstClauses, wrappedText } from './help/help-text.ts';
import { withPager } from './terminal/paged-output.ts';

/** Longer lines than this are hard to read. */
const WIDEST_HELP = 120;

/** Prints the help of the program itself: the most used commands for `-h`, else all of them. */
export async function printProgramHelp(argv: readonly string[], context: Context): Promise<void> {
  const width = helpWidth(context);
  await printHelp(wantsShortHelp(argv) ? shortHelp(width) : fullHelp(width), argv, context);
}

export function wantsShortHelp(argv: readonly string[]): boolean {
  return argv.includes('-h') && !argv.includes('--help');
}

/** Help that is read through a pager goes to a pipe; the terminal is still where standard error goes. */
export function helpWidth({ stdout, stderr }: Pick<Context, 'stdout' | 'stderr'>): number {
  const terminal = [stdout, stderr].find(({ isTerminal }) => isTerminal);
  return Math.min(terminal?.columns ?? 80, WIDEST_HELP);
}

/** Prints a text, through the pager where it does not fit the screen. */
export async function printHelp(text: string, argv: readonly string[], context: Context): Promise<void> {
  if (argv.includes('--no-pager') || !context.stdout.isTerminal) return await context.stdout.write(text);
  await withPager(context, ({ stdout }) => stdout.write(text));
}

const head = (width: number) =>
  `Usage: hooktrail [options] [command]\n\n${wrappedText(DESCRIPTION, width).join('\n')}\n`;
const exampleLines = () => EXAMPLES.map((example) => `  $ ${example}\n`).join('');

function fullHelp(width: number): string {
  const visible = tree.filter(({ isHidden }) => !isHidden);
  const flags = [VERSION_FLAG, ...GLOBAL_FLAGS, HELP_FLAG].map(({ flags, text }) => {
    return [flags, text] as const;
  });
  const commands = visible.map(({ name, summary }) => [name, summary] as const);
  const lines = alignedColumns([...commands, ...flags], width);
  const groups = [...new Set(visible.map(({ group }) => group))].map((group) => {
    const texts = lines.filter((_, index) => visible[index]?.group === group);
    return `${group}\n${texts.join('')}`;
  });
  const options = lines.slice(commands.length).join('');
  return `${head(width)}\nExamples:\n${exampleLines()}\n${groups.join('')}\nOptions:\n${options}`;
}

function shortHelp(width: number): string {
  const longest = Math.max(...MOST_USED.map((path) => path.length));
  const rows = MOST_USED.map((path): [string, string] => {
    const [first, second] = path.split(' ');
    const group = tree.find(({ name }) => name === first) as Branch | Leaf;
    const node = 'children' in group ? group.children.find(({ name }) => name === second) : group;
    return [path, firstClauses(node?.summary ?? '', width - longest - 4)];
  });
  return `${head(width)}\n${alignedColumns(rows, width).join('')}\n${exampleLines()}\nhooktrail --help shows all commands\n`;
}
