import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csvTable, csvText } from '../../src/formats/csv.ts';
import { CsvColumns } from '../../src/formats/csv-columns.ts';
import type { FormatOptions } from '../../src/formats/format-options.ts';
import { type FieldPath, parseFieldPaths } from '../../src/items/field-path.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { pageOf, print, readCsv } from '../support/outputs.ts';
import { sampleSize } from '../support/seed.ts';
import { jsonText } from './json-text.ts';

const csv = async (pages: string[][], more: Partial<FormatOptions> = {}, width?: number) => {
  const { text, said } = await print(pages, { ...more, format: 'csv', width });
  return { text, said };
};

const columnsOfAll = (pages: string[][], more: { format?: string; fields?: readonly FieldPath[] } = {}) => {
  const read = async function* () {
    for (const page of pages) yield { items: pageOf(page) };
  };
  return CsvColumns.ofAll({ format: 'csv', list: 'events', ...more }, read());
};

/** The cells that a spreadsheet finds in a text: a quote at the start of a cell begins a quoted part. */
function cellsBy(separator: string, text: string): string[] {
  const cells: string[] = [];
  for (let at = 0; at < text.length; ) {
    let cell = '';
    if (text[at] === '"') {
      const [quoted = ''] = /^"(?:[^"]|"")*"?/.exec(text.slice(at)) ?? [];
      cell = quoted.replace(/^"|"$/g, '').replaceAll('""', '"');
      at += quoted.length;
    }
    while (at < text.length && text[at] !== separator && !/[\r\n]/.test(text[at] as string))
      cell += text[at++];
    at++;
    cells.push(cell);
  }
  return cells;
}

const cell = async (value: string, more: Partial<FormatOptions> = {}) =>
  readCsv((await csv([[`{"a":${value},"b":0}`]], more)).text)[1]?.[0];

describe('--csv', () => {
  test('puts the known fields first and the others in their order', async () => {
    const items = [
      '{"x":1.10,"eventId":"e1","createdOn":"2026-11-01T00:00:00Z"}',
      '{"eventId":"e2","y":{"z":[1,"two"]},"publishStatus":null,"x":true}',
    ];
    expect((await csv([items])).text).toBe(
      'createdOn,publishStatus,eventId,x,y.z\r\n' +
        '2026-11-01T00:00:00Z,,e1,1.10,\r\n' +
        ',,e2,true,"[1,""two""]"\r\n',
    );
  });

  test('gives an object one column for each scalar inside it, in its place', async () => {
    const items = [
      '{"a":{"b":1,"c.d":{"e":"x"},"f":null},"g":2}',
      '{"g":3,"a":{"f":{"h":true},"b":"y"}}',
      '{"a":{"b":7,"b":8},"a":{"f":{}}}',
    ];
    expect((await csv([items])).text).toBe('a.b,a.c\\.d.e,a.f.h,g\r\n1,x,,2\r\ny,,true,3\r\n,,,\r\n');
    const fields = parseFieldPaths('g,a');
    expect((await csv([items], { fields })).text).toBe(
      'g,a.b,a.c\\.d.e,a.f.h\r\n2,1,x,\r\n3,y,,true\r\n,,,\r\n',
    );
  });

  test('gives a known field that is an object its columns in the place of the field', async () => {
    expect((await csv([['{"x":1,"eventId":"e","createdOn":{"s":7,"ns":8}}']])).text).toBe(
      'createdOn.s,createdOn.ns,eventId,x\r\n7,8,e,1\r\n',
    );
  });

  test('gives each field a title of its own, which --fields takes', async () => {
    const item = '{"a.b":1,"a":{"b":2,"First Name":3,"":4},"":5}';
    const header = 'a\\.b,a.b,a.First Name,a."",""';
    const { text } = await csv([[item]]);
    expect(readCsv(text)).toEqual([header.split(','), ['1', '2', '3', '4', '5']]);
    expect((await csv([[item]], { fields: parseFieldPaths(header) })).text).toBe(text);
  });

  test('keeps an object as JSON where the first page had none, and warns of a value that has no column', async () => {
    expect(await csv([['{"a":null,"b":{"c":1}}'], ['{"a":{"x":1},"b":2}']])).toEqual({
      text: 'a,b.c\r\n,1\r\n"{""x"":1}",\r\n',
      said: [
        'warning: a later page has "b", which the first did not: it has no column; name the columns with --fields',
      ],
    });
  });

  // It took 45 s and more than a minute, and so longer than any test may.
  test('takes time in step with its size: one event of 40,000 fields, 150 events with 200 fields of their own', async () => {
    const [fields, items] = [sampleSize(5_000, 40_000), sampleSize(40, 150)];
    const wide = `{${Array.from({ length: fields }, (_, n) => `"field${n}":${n}`).join()}}`;
    const own = Array.from(
      { length: items },
      (_, item) => `{${Array.from({ length: 200 }, (_, n) => `"f${item}x${n}":1`).join()}}`,
    );
    const [titles, cells] = (await csv([[wide]])).text.split('\r\n');
    expect([titles?.split(',').length, cells?.split(',').at(-1)]).toEqual([fields, String(fields - 1)]);
    const lines = (await csv([own])).text.split('\r\n');
    expect(lines[items]).toBe(`${','.repeat((items - 1) * 200)}${Array(200).fill(1).join()}`);
  }, 60_000);

  test('has no header line under --no-header', async () => {
    expect((await csv([['{"a":1}']], { hasHeader: false })).text).toBe('1\r\n');
    expect((await csv([], { hasHeader: false })).text).toBe('');
  });

  test('a field of --fields that is an object in some items only is one column', async () => {
    const items = ['{"x":1}', '{"x":{"b":2}}', '{"x":null}'];
    const fields = parseFieldPaths('x');
    expect((await csv([items], { fields })).text).toBe('x\r\n1\r\n"{""b"":2}"\r\n""\r\n');
    expect((await csv([items.slice(1)], { fields })).text).toBe('x.b\r\n2\r\n""\r\n');
  });

  test('shows only --fields', async () => {
    const fields = parseFieldPaths('y.z.1,x,none');
    expect((await csv([['{"x":9007199254740993,"y":{"z":[1,"a \\"b\\", c"]}}']], { fields })).text).toBe(
      'y.z.1,x,none\r\n"a ""b"", c",9007199254740993,\r\n',
    );
  });

  test('begins with a byte order mark under --csv-bom, once', async () => {
    expect((await csv([['{"a":"é"}'], ['{"a":"ü"}']], { csvBom: true })).text).toBe('\ufeffa\r\né\r\nü\r\n');
    const fields = parseFieldPaths('x,y');
    expect((await csv([], { csvBom: true, fields })).text).toBe('\ufeffx,y\r\n');
  });

  test('quotes any line break', async () => {
    expect((await csv([['{"a":"1\\n2","b":"3\\r4","c":"5\\r\\n6"}']])).text).toBe(
      'a,b,c\r\n"1\n2","3\r4","5\r\n6"\r\n',
    );
  });

  test('names a late field by the path that --fields takes', async () => {
    const { said } = await csv([['{"a":{"b":1}}'], ['{"a":{"b":2,"c.d":{"e":3}}}']]);
    expect(said).toEqual([
      'warning: a later page has "a.c\\.d.e", which the first did not: it has no column; name the columns with --fields',
    ]);
  });

  test('has the columns of all pages where these were read before, and warns where there are too many', async () => {
    const printed = async (pages: string[][]) => csv(pages, { csvColumns: await columnsOfAll(pages) });
    expect(await printed([['{"a":1}'], ['{"a":2,"b":{"c":3}}']])).toEqual({
      text: 'a,b.c\r\n1,\r\n2,3\r\n',
      said: [],
    });
    const many = (count: number) => `{${Array.from({ length: count }, (_, n) => `"f${n}":${n}`).join()}}`;
    const { text, said } = await printed([['{"a":1}'], [many(2001)], ['{"f0":7}']]);
    const [titles = '', , cells = '', last = ''] = text.split('\r\n');
    expect([titles.split(',').length, titles.split(',').at(-1)]).toEqual([2001, 'f1999']);
    expect([cells.split(',').length, last.split(',')[1]]).toEqual([2001, '7']);
    expect(said).toEqual([
      'warning: a later page has "f2000", which the first did not: it has no column; name the columns with --fields',
    ]);
    expect((await printed([[many(2001)]])).said).toEqual([]);
  });

  test('reads the pages before it prints only for CSV without --fields', async () => {
    expect(await columnsOfAll([['{"a":1}']])).toBeInstanceOf(CsvColumns);
    expect(await columnsOfAll([], { format: 'table' })).toBeUndefined();
    expect(await columnsOfAll([], { fields: parseFieldPaths('a') })).toBeUndefined();
  });

  test('shows what is nested deeper than 20 names as JSON in one cell, at any depth', async () => {
    const nested = (depth: number) => `${'{"d":'.repeat(depth)}1${'}'.repeat(depth)}`;
    const title = Array(20).fill('d').join('.');
    expect((await csv([[nested(20)]])).text).toBe(`${title}\r\n1\r\n`);
    expect((await csv([[nested(21)]])).text).toBe(`${title}\r\n"{""d"":1}"\r\n`);
    const [titles, cells = ''] = (await csv([[nested(20_000)]])).text.split('\r\n');
    expect([titles, cells.replaceAll('""', '"')]).toEqual([title, `"${nested(19_980)}"`]);
  });

  test('names the id of an event where the first page had none', async () => {
    const { said } = await csv([['{"createdOn":"x"}'], ['{"createdOn":"y","eventId":"z"}']]);
    expect(said).toEqual([
      'warning: a later page has "eventId", which the first did not: it has no column; name the columns with --fields',
    ]);
  });

  test('warns of a known field that the first page lacks, in an event inside its item too', async () => {
    const said = async (...pages: string[][]) => (await csv(pages)).said;
    const late = (name: string) => [
      `warning: a later page has "${name}", which the first did not: it has no column; name the columns with --fields`,
    ];
    const first = ['{"record":{"eventId":"a","n":1}}'];
    expect(await said(first, ['{"record":{"eventId":"b","publishStatus":"FAILED","n":2}}'])).toEqual(
      late('publishStatus'),
    );
    expect(await said(first, ['{"eventId":"b","other":{"n":2},"record":{"eventId":"c"}}'])).toEqual([
      ...late('other.n'),
      'warning: later pages also have "record.eventId": they have no columns either',
    ]);
    expect(await said(first, ['{"record":{"eventId":"b","n":2}}'], ['{"eventId":"c"}'])).toEqual([]);
    // Columns of the same last name show other fields.
    const alike = ['{"record":{"eventId":"a"},"x":{"publishStatus":1},"n":1}'];
    expect(await said(alike, ['{"record":{"eventId":"b","n":2}}'])).toEqual(late('record.n'));
    expect(await said(alike, ['{"record":{"eventId":"b","publishStatus":"FAILED"}}'])).toEqual(
      late('publishStatus'),
    );
  });

  test('warns of the first field that only later pages have, at the end names the others, and keeps the columns', async () => {
    const result = await csv([['{"a":1}'], ['{"a":2,"new":3}', '{"newer":4,"new":5}'], ['7']]);
    expect(result.text).toBe('a\r\n1\r\n2\r\n""\r\n""\r\n');
    expect(result.said).toEqual([
      'warning: a later page has "new", which the first did not: it has no column; name the columns with --fields',
      'warning: later pages also have "newer", an item that is not an object: they have no columns either',
    ]);
    const names = Array.from({ length: 40 }, (_, n) => `"f${n}"`);
    const many = await csv([['{"a":1}'], names.map((name) => `{${name}:1}`)]);
    expect(many.said[1]).toBe(
      `warning: later pages also have ${names.slice(1, 20).join(', ')}, others: they have no columns either`,
    );
  });

  test('gives items that are not objects a column', async () => {
    expect((await csv([['"text"', '[1,2]', 'null']])).text).toBe('value\r\ntext\r\n"[1,2]"\r\n""\r\n');
    expect(await csv([['7', '{"a":1}']])).toEqual({ text: 'value,a\r\n7,\r\n,1\r\n', said: [] });
    expect((await csv([['7', '{"eventId":"e"}']])).text).toBe('value,eventId\r\n7,\r\n,e\r\n');
    expect((await csv([['{}']])).text).toBe('value\r\n{}\r\n');
  });

  test('has a record without values for an item that is not an object under --fields', async () => {
    const fields = parseFieldPaths('a,b');
    expect((await csv([['{"a":1,"b":2}', '7', '["a"]']], { fields })).text).toBe('a,b\r\n1,2\r\n,\r\n,\r\n');
  });

  test('begins with the name and the description in other lists, and moves nothing out of a member', async () => {
    const list = 'event-types';
    const item = '{"sample":{"eventId":"e"},"summary":"s","extra":1,"name":"n"}';
    const text = 'name,summary,sample.eventId,extra\r\nn,s,e,1\r\n';
    expect((await csv([[item]], { list })).text).toBe(text);
    expect(await csv([[item], ['{"name":"m","sample":{"eventType":"t"}}']], { list })).toEqual({
      text: `${text}m,,,\r\n`,
      said: [
        'warning: a later page has "sample.eventType", which the first did not: it has no column; name the columns with --fields',
      ],
    });
    expect((await csv([['"bare"']], { list })).text).toBe('name\r\nbare\r\n');
  });

  test('prints a header even if nothing matches', async () => {
    expect(await csv([])).toEqual({
      text: 'createdOn,publishStatus,eventType,eventId,subscriptionId\r\n',
      said: ['notice: no events match'],
    });
    expect(await csv([], { list: 'event-types', csvDelimiter: ';' })).toEqual({
      text: 'eventType;description\r\n',
      said: ['notice: no event types match'],
    });
    const fields = parseFieldPaths('a,b.c');
    expect(await csv([[]], { fields })).toEqual({ text: 'a,b.c\r\n', said: ['notice: no events match'] });
  });

  test.each([
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t1',
    '\r1',
    '\n1',
    '\0=1',
    '＝1',
    '＋1',
    '－1',
    '＠1',
    ' =1',
    '\u00a0=1',
    '\v+1',
    '\u3000\ufeff@1',
  ])('keeps a spreadsheet from running the formula %j', async (text) => {
    expect(await cell(JSON.stringify(text))).toBe(`'${text}`);
    expect(await cell(JSON.stringify(text), { csvRaw: true })).toBe(text);
  });

  test.each([
    ['x;=1+1', "x;'=1+1"],
    ['x\t@SUM(A1)', "x\t'@SUM(A1)"],
    ['x;"=1+1";"""-1', `x;'"=1+1";'"""-1`],
    ['two\n=1\r\n+1', "two\n'=1\r\n'+1"],
    [';\t=1;＝1', ";\t'=1;'＝1"],
    ['=1;=1', "'=1;'=1"],
    ['a; =1;\u00a0+1', "a;' =1;'\u00a0+1"],
    ['a;\v=1', "a;'\v=1"],
    ['a;V=1;\0', "a;V=1;'\0"],
  ])(
    'keeps one that parts cells at semicolons, tabs or line breaks from running %j',
    async (text, guarded) => {
      expect(await cell(JSON.stringify(text))).toBe(guarded);
      expect(await cell(JSON.stringify(text), { csvRaw: true })).toBe(text);
      // A list stays JSON.
      const list = (await cell(JSON.stringify([text]))) ?? '';
      expect(list).not.toMatch(/[;\t\r\n]"*[=+@-]/);
      expect(JSON.parse(list)).toHaveLength(1);
    },
  );

  test.each(['a; b', 'text/html;charset=utf-8', 'one\n\ntwo\r\n', 'a;b\t', 'x=1;y=-2'])(
    'leaves the text %j unchanged: no cell of it begins with a formula',
    async (text) => {
      expect(await cell(JSON.stringify(text))).toBe(text);
    },
  );

  test('no cell is a formula, whether commas, semicolons or tabs part them', async () => {
    const piece = fc.constantFrom('=', '-', '@', ';', '\t', '\n', '\r', '"', ',', 'a', ' ', "'");
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const a = pieces.join('');
        const { text } = await csv([[JSON.stringify({ a, n: 1, b: a, c: [a] })]], { hasHeader: false });
        for (const separator of [',', ';', '\t'])
          expect(cellsBy(separator, text).filter((one) => /^[=@-]/.test(one))).toEqual([]);
      }),
      { numRuns: sampleSize(100, 1000) },
    );
  });

  test('guards the texts inside an object that is one cell', async () => {
    const fields = parseFieldPaths('a');
    const text = async (more: Partial<FormatOptions>) =>
      (await csv([['{"a":{"b":"x;=1"}}', '{"a":0}']], { fields, ...more })).text;
    expect(await text({})).toBe('a\r\n"{""b"":""x;\'=1""}"\r\n0\r\n');
    expect(await text({ csvRaw: true })).toBe('a\r\n"{""b"":""x;=1""}"\r\n0\r\n');
  });

  test('puts another delimiter between cells, and quotes the cells that hold it', async () => {
    const items = ['{"a":"x;y","b":"x,y","c":"x\\ty"}', '{"c":1}'];
    expect((await csv([items], { csvDelimiter: ';' })).text).toBe('a;b;c\r\n"x;y";x,y;x\ty\r\n;;1\r\n');
    expect((await csv([items], { csvDelimiter: '\t' })).text).toBe(
      'a\tb\tc\r\nx;y\tx,y\t"x\ty"\r\n\t\t1\r\n',
    );
  });

  test('keeps the times of the service, and notices a zone that is not from the command line', async () => {
    const zone = new TimeZone('Europe/Berlin');
    const item = '{"createdOn":"2026-11-01T00:00:00Z"}';
    const asWritten = 'createdOn\r\n2026-11-01T00:00:00Z\r\n';
    expect(await csv([[item]], { zone })).toEqual({
      text: asWritten,
      said: [
        'notice: times in CSV are as the service wrote them, in UTC; --timezone Europe/Berlin converts them',
      ],
    });
    expect(await csv([[item]], { zone, csvZone: zone })).toEqual({
      text: 'createdOn\r\n2026-11-01T01:00:00+01:00\r\n',
      said: [],
    });
    expect(await csv([[item]], { zone: UTC })).toEqual({ text: asWritten, said: [] });
    expect(await csv([[item]])).toEqual({ text: asWritten, said: [] });
  });

  test('prints a table of cells by the same rules', () => {
    const rows = [['a;b', 'x"y', 1.5, null], [null], ['\u001b', '\n']];
    expect(csvTable(rows, { isTerminal: false })).toBe('a;b,"x""y",1.5,\r\n""\r\n\u001b,"\n"\r\n');
    expect(csvTable(rows, { isTerminal: true }, ';')).toBe('"a;b";"x""y";1.5;\r\n""\r\n\\u001b;"\n"\r\n');
    expect(csvText(';=1')).toBe(";'=1");
  });

  test('does the same for titles', async () => {
    expect((await csv([['{"=x":1}']])).text).toBe("'=x\r\n1\r\n");
  });

  test.each(['-1.5', '-0', '1e400', '1.10', '12345678901234567890'])(
    'leaves the number %s unchanged',
    async (number) => {
      expect(await cell(number)).toBe(number);
    },
  );

  test.each(["'=1", ' 1', '\u00a0a=1', 'a=1', '1-1'])('leaves the text %j unchanged', async (text) => {
    expect(await cell(JSON.stringify(text))).toBe(text);
  });

  test('escapes control characters on a terminal', async () => {
    expect((await csv([['{"a\u009b":"\\u001b[31m\u202e\\r"}']], {}, 80)).text).toBe(
      'a\\u009b\r\n\\u001b[31m\\u202e\\u000d\r\n',
    );
    expect((await csv([['{"a":"\\u001b[31m"}']])).text).toBe('a\r\n\u001b[31m\r\n');
  });

  test('reads back as the same values', async () => {
    const fields: FieldPath[] = [
      { text: 'a', steps: ['a'] },
      { text: 'b', steps: ['b'] },
    ];
    // An object becomes columns.
    const flat = jsonText.filter((text) => !text.startsWith('{'));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(flat, flat), { minLength: 1 }), async (rows) => {
        const { text } = await csv([rows.map(([a, b]) => `{"a":${a},"b":${b}}`)], { fields, csvRaw: true });
        const expected = rows.map((row) => row.map(expectedCell));
        expect(readCsv(text)).toEqual([['a', 'b'], ...expected]);
      }),
    );
  });
});

/**
 * Returns strings unchanged (half a surrogate pair cannot be written), null as an empty text, other values as
 * their text.
 */
function expectedCell(json: string): string {
  if (json === 'null') return '';
  return json.startsWith('"') ? (JSON.parse(json) as string).toWellFormed() : json;
}
