import type { Run } from './screen.ts';

/** A cell of the picture's terminal, in pixels. */
const WIDTH = 8.4;
const HEIGHT = 18;
const PADDING = 16;

/** Names of the ANSI colours that the program uses. */
const inks: Readonly<Record<number, string>> = { 1: 'red', 2: 'green', 3: 'yellow', 6: 'cyan' };

/**
 * The window has its own background, so that it is readable on any page, light or dark as in the reader's
 * system.
 */
const style = `
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace; white-space: pre }
text, rect { fill: #1f2328 }
.window { fill: #f6f8fa; stroke: #d1d9e0 }
.bold { font-weight: 600 }
.dim { fill: #59636e }
.red { fill: #cf222e } .green { fill: #116329 } .yellow { fill: #7d4e00 } .cyan { fill: #1b7c83 }
@media (prefers-color-scheme: dark) {
  text, rect { fill: #e6edf3 }
  .window { fill: #161b22; stroke: #3d444d }
  .dim { fill: #9198a1 }
  .red { fill: #ff7b72 } .green { fill: #3fb950 } .yellow { fill: #d29922 } .cyan { fill: #39c5cf }
}
`;

/**
 * Draws a terminal's lines as a self-contained picture. `title` is the text for readers who cannot see it.
 */
export function terminalPicture(lines: readonly Run[][], columns: number, title: string): string {
  const width = pixels(columns * WIDTH + 2 * PADDING);
  const height = lines.length * HEIGHT + 2 * PADDING;
  const drawn = lines.flatMap((runs, row) => runs.map((run) => drawRun(run, PADDING + row * HEIGHT)));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
<style>${style}</style>
<rect class="window" x="0.5" y="0.5" width="${pixels(width - 1)}" height="${height - 1}" rx="8"/>
${drawn.join('\n')}
</svg>
`;
}

function drawRun({ text, column, color, bold, dim }: Run, top: number): string {
  const ink = color === null ? undefined : inks[color];
  if (color !== null && !ink) throw new Error(`the pictures have no ink for the colour ${color}`);
  const names = [ink, bold && 'bold', dim && 'dim'].filter(Boolean).join(' ');
  const look = names && ` class="${names}"`;
  const x = pixels(PADDING + column * WIDTH);
  if (/^[█▉▊▋▌▍▎▏]+$/.test(text))
    return `<rect${look} x="${x}" y="${top + 3}" width="${pixels(barLength(text) * WIDTH)}" height="${HEIGHT - 5}"/>`;
  // Makes each text as wide as its cells, whatever font the reader has.
  const fit = `textLength="${pixels(text.length * WIDTH)}" lengthAdjust="spacingAndGlyphs"`;
  return `<text${look} x="${x}" y="${top + 13}" ${fit}>${escaped(text)}</text>`;
}

/**
 * Returns the width in cells of a bar of block elements, to draw it: fonts leave gaps between the characters.
 */
function barLength(blocks: string): number {
  // U+2588 is a whole cell, U+258F an eighth of one.
  return [...blocks].reduce((cells, block) => cells + (0x2590 - block.charCodeAt(0)) / 8, 0);
}

function pixels(length: number): number {
  return Math.round(length * 100) / 100;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
