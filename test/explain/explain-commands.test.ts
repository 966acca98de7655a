import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { faultRounds, randomOf, sampleSize } from '../support/seed.ts';
import { drawOf } from './planted-causes.ts';

const GUIDS = [
  '22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
  '9F9073E8-1531-474D-BED1-B2F34ED6F2CE',
  '9f9073e8-1531-474d-bed1-b2f34ed6f2ce',
];
const TYPES = ['document.signed', 'Document.Signed', 'order.*', 'a,b', 'order.created', "it's"];
/** JSON texts that look like each other, like a time, or like a part of a condition. */
const VALUES = [
  ...['1', '1.0', '"1"', '"1.0"', '10', '1e1', '9007199254740993', '9007199254740992', '"9007199254740993"'],
  ...[
    '1e400',
    '10e399',
    '-0',
    '0',
    'true',
    '"true"',
    'null',
    '"null"',
    '""',
    '" "',
    '"a b"',
    '"A b"',
    '" a b "',
  ],
  ...[
    '20261120',
    '"20261120"',
    '1795328922',
    '"1795328922"',
    '1795328922000',
    '"2026-11-20"',
    '"2026-11-20T00:00:00Z"',
  ],
  ...[
    '"08:00"',
    '"2h"',
    '"today"',
    '"monday"',
    '"x && y"',
    '"x and y = z"',
    '"x or !y"',
    '"!x"',
    '"= x"',
    '"~"',
  ],
  ...[
    '"it\'s"',
    '"say \\"hi\\""',
    '"a\\\\b"',
    '"\\u0041"',
    '"A"',
    '"ä"',
    '"*"',
    '"a,b"',
    '"\\u001b[31m"',
    '"\\ud83d\\ude00"',
  ],
  ...[
    '[]',
    '[1]',
    '["x && y"]',
    '["a","b = c"]',
    '{}',
    '{"x":1}',
    '{"x":"a and b = c"}',
    '[{"y":2}]',
    '[[1]]',
  ],
];
/** Filters that a user may have given to explain. */
const GIVEN = [
  ...[
    '--type document.signed',
    '--type ORDER.CREATED',
    `--subscription ${GUIDS[0]}`,
    '--grep a',
    '--where eventId~1',
  ],
  ...[
    '--since 2026-11-18T22:00:00.050Z',
    '--until 2026-11-19T01:00:00Z',
    '--where publishStatus',
    '--failed',
    '--where createdOn>2026-11-18T22:01',
  ],
];
const NAMES = [
  'plan',
  'a.b',
  'a b',
  'and or',
  '!n',
  'n=1',
  "it's",
  'ä',
  'x\\y',
  '0',
  'é and b',
  'size',
  'list',
  'deep',
];

type Draw = ReturnType<typeof drawOf>;

/** A history in which some of the conditions make events fail. */
function historyOf({ below, pick, random }: Draw) {
  const names = Array.from({ length: 2 + below(3) }, () => pick(NAMES));
  const pools = names.map(() => Array.from({ length: 2 + below(4) }, () => pick(VALUES)));
  const guilty = names.map((_, index) => (below(2) ? pick(pools[index] as string[]) : undefined));
  const [type, guid] = [below(3) ? undefined : pick(TYPES), below(3) ? undefined : pick(GUIDS)];
  const span = below(2) ? below(300) : Number.NaN;
  const start = Date.parse('2026-11-18T22:00:00Z');
  const step = pick([60_000, 1_000, 0.4]);
  return Array.from({ length: 400 }, (_, number) => {
    const values = pools.map((pool) => (below(8) ? pick(pool) : undefined));
    const [eventType, subscriptionId] = [pick(TYPES), pick(GUIDS)];
    const isGuilty =
      values.some((value, index) => value !== undefined && value === guilty[index]) ||
      eventType === type ||
      subscriptionId === guid ||
      Math.abs(number - span) < 25;
    const members = values.flatMap((value, index) =>
      value === undefined ? [] : [`${JSON.stringify(names[index])}:${value}`],
    );
    const time = new Date(start + Math.floor(number * step)).toISOString();
    const createdOn = below(4) ? time.replace('Z', `${below(10_000)}Z`) : time;
    return `{${[
      `"eventId":"00000000-0000-4000-8000-${String(number).padStart(12, '0')}"`,
      `"createdOn":${JSON.stringify(createdOn)}`,
      `"publishStatus":"${random() < (isGuilty ? 0.9 : 0.03) ? 'FAILED' : 'SUCCESS'}"`,
      `"eventType":${JSON.stringify(eventType)}`,
      `"subscriptionId":"${subscriptionId}"`,
      ...members,
    ].join(',')}}`;
  });
}

/** The words of a command line of a POSIX shell. */
const wordsOf = (line: string) =>
  (line.match(/(?:'[^']*'|\\.|[^\s'\\])+/g) ?? []).map((word) =>
    word.replace(/'([^']*)'|\\(.)/g, (_, quoted, single) => quoted ?? single),
  );

/** A run that meets no more says little. */
const FEWEST_CAUSES = 10;

test('each command that explain prints lists exactly the events that it counts', {
  timeout: 900_000,
}, async () => {
  await using home = await createHome();
  const file = path.join(home.env['HOME'] as string, 'e.ndjson');
  const random = randomOf('the commands of explain');
  const draw = drawOf(() => random.float());
  let causes = 0;
  // Some histories have no cause.
  for (let round = 0; round < faultRounds(sampleSize(3, 6), 500) || causes <= FEWEST_CAUSES; round++) {
    const lines = historyOf(draw);
    await writeFile(file, lines.join('\n'));
    const run = async (...words: string[]) => {
      const { code, stdout, stderr } = await hooktrail(words, { env: home.env });
      expect({ code, stderr, words }).toEqual({ code: 0, stderr: '', words });
      return stdout;
    };
    const given = draw.below(3) ? [] : draw.pick(GIVEN).split(' ');
    const explain = ['events', 'explain', '--from', file, ...given];
    const explained = JSON.parse(await run(...explain, '--json'));
    const commands = [...(await run(...explain)).matchAll(/^next: hooktrail (.*?)(?: {2}# .*)?$/gm)];
    const seen = new Set<string>();
    for (const [index, cause] of explained.causes.entries()) {
      const words = wordsOf(commands[index]?.[1] as string);
      const idsOf = async (given: string[]) =>
        (await run(...given, '--fields', 'eventId', '--no-header'))
          .split('\n')
          .filter((id) => id && !seen.has(id));
      const failed = await idsOf(words);
      const all = await idsOf(words.filter((word) => word !== '--failed'));
      const context = { round, command: words.join(' '), conditions: cause.conditions };
      expect({ ...context, failed: failed.length, events: all.length }).toEqual({
        ...context,
        failed: cause.failed,
        events: cause.events,
      });
      for (const id of all) seen.add(id);
      causes++;
    }
  }
});
