import { describe, expect, test } from 'vitest';
import { NotSignedInError } from '../../src/errors.ts';
import { wrapWords } from '../../src/terminal/cell-width.ts';
import { plain } from '../../src/terminal/palette.ts';
import { createReporter, errorText } from '../../src/terminal/reporter.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput } from '../support/outputs.ts';

const error = new NotSignedInError('the words of an error are whole at the end of a line', {
  details: ['so are those of its details, which are indented once more'],
  next: 'run `hooktrail login --profile night --store file` or look at https://id.example.com/a/page/that/is/long',
});

describe('on a terminal of 40 columns', () => {
  test('errors break at spaces; a command and an address stay whole', () => {
    expect(errorText(error, plain, {}, 'text', 40)).toBe(
      'error: the words of an error are whole\n' +
        '  at the end of a line\n' +
        '  so are those of its details, which are\n' +
        '    indented once more\n' +
        'next: run `hooktrail login --profile night --store file`\n' +
        '  or look at https://id.example.com/a/page/that/is/long\n',
    );
  });

  test('a next step that is a command stays one line', () => {
    const next = 'hooktrail events search --failed --since 24h --profile night';
    const text = errorText(new NotSignedInError('no', { next }), plain, {}, 'text', 40);
    expect(text).toBe(`error: no\nnext: ${next}\n`);
  });

  test('a time stays whole', async () => {
    const stderr = fakeOutput(40);
    const reporter = await createReporter(createContext({ stderr }), {}, 'text');
    reporter.notice('the deliveries have failed since 2026-11-22 10:00:00Z');
    expect(stderr.text).toBe('the deliveries have failed since\n2026-11-22 10:00:00Z\n');
    expect(wrapWords('failing since 2026-11-22 10:00:00Z', 30)).toEqual([
      'failing since',
      '2026-11-22 10:00:00Z',
    ]);
  });

  test('notices break at spaces', async () => {
    const stderr = fakeOutput(40);
    const reporter = await createReporter(createContext({ stderr }), {}, 'text');
    reporter.notice('short\n  Open the URL above by hand: the sign-in is still waiting.');
    expect(stderr.text).toBe('short\n  Open the URL above by hand: the\n  sign-in is still waiting.\n');
  });
});

test('nothing breaks lines that do not go to a terminal', () => {
  expect(errorText(error, plain, {}, 'text').split('\n')).toHaveLength(4);
});
