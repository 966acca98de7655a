import { expect, test } from 'vitest';
import { paletteOf, plain } from '../../src/terminal/palette.ts';

test.each(['coloured', 'plain'])(
  'a %s palette paints one text, whatever else it is called with',
  async (kind) => {
    const palette = kind === 'plain' ? plain : await paletteOf(1);
    for (const paint of Object.values(palette) as ((text: string) => string)[])
      expect(['one', 'two'].map(paint)).toEqual([paint('one'), paint('two')]);
  },
);
