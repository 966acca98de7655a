import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formOfHeader, TableColumnReader, type TableForm, tableFormOf } from '../../src/ids/table-rows.ts';

const [A, B, C] = [1, 2, 3].map((number) => `3f2504e0-4f89-41d3-9a0c-00000000000${number}`) as [
  string,
  string,
  string,
];

/** The form as a line: separator, names of columns, each with its number of GUIDs. */
function shownForm(form: TableForm | undefined) {
  if (!form) return undefined;
  const { separator, hasQuotes, hasHeader, columns } = form;
  const names = columns.map(({ name, guids }) => `${name}=${guids}`).join(' ');
  return `${String.fromCharCode(separator)} ${names}${hasHeader ? '' : ', no header'}${hasQuotes ? '' : ', no quotes'}`;
}

test.each<[title: string, text: string, form: string | undefined]>([
  ['CSV', `id,note\n${A},x\n${B},y\n`, ', id=2 note=0'],
  ['CSV with semicolons and decimal commas', `id;price\n${A};1,5\n${B};2,5\n`, '; id=2 price=0'],
  ['TSV with a lone quote', `id\tsize\n${A}\t5"\n${B}\t6\n`, '\t id=2 size=0, no quotes'],
  ['a table of psql', ` id | note \n----+------\n ${A} | x \n(1 row)\n\n`, '| id=1 note=0'],
  ['a table of psql in Russian', `id|note\n${A}|x\n(1 строка)\n`, '| id=1 note=0'],
  ['a table of MySQL', `+---+--+\n| id | n |\n+---+--+\n| ${A} | x |\n+---+--+\n`, '| =0 id=1 n=0 =0'],
  ['Markdown', `| id | n |\n|:--|--:|\n| ${A} | x |\n`, '| =0 id=1 n=0 =0'],
  ['a table without a header', `${A},x\n${B},y\n`, ', 1=2 2=0, no header'],
  ['line ends of Windows, and empty lines', `\r\nid,n\r\n\r\n${A},x\r\n,\r\n${B},y\r\n`, ', id=2 n=0'],
  ['quoted cells', `"id","a ""b"", c"\n"${A}","1\n2"\n`, ', id=1 a "b", c=0'],
  ['names with quotes', ` "id" ,5"x",a"b"\n${A},1,2\n`, ', id=1 5"x"=0 a"b"=0'],
  ['a name with a quoted start', `id,"a" b\n${A},1\n`, ', id=1 "a" b=0'],
  ['quotes within cells', `id,a,b\n${A},5",x\n${B},y,6"\n${C},7,8\n`, ', id=3 a=0 b=0'],
  ['a last row that is cut off', `id,note\n${A},x\n${B}`, ', id=1 note=0'],
  ['a last row without a line end', `id,note\n${A},x`, ', id=1 note=0'],
  ['a cell that is cut off', `id,note\n${A},x\n${B},"y\n`, ', id=1 note=0'],
  ['a row in ten with other cells', `id,n\n${`${A},x\n`.repeat(9)}${B}\n`, ', id=2 n=0'],
  ['a row in nine with other cells', `id,n\n${`${A},x\n`.repeat(8)}${B}\n`, undefined],
  ['a header alone', 'id,note\n', undefined],
  ['a single row', `${A},x\n`, undefined],
  ['a table without a GUID', 'id,note\n1,x\n', undefined],
  ['a list of ids', `${A}\n${B}\n`, undefined],
  ['no text', '', undefined],
])('the form of %s is found', (_, text, form) => {
  expect(shownForm(tableFormOf(text, undefined))).toBe(form);
});

test.each<[text: string, form: string | undefined]>([
  [`id\n${A}\n`, ', id=1'],
  ['ID\norder 7\n', ', ID=0'],
  ['other,more\norder 7,x\n', undefined],
])('with the column id named, the form of %j is %j', (text, form) => {
  expect(shownForm(tableFormOf(text, 'id'))).toBe(form);
});

test.each<[line: string, form: string | undefined]>([
  ['eventId', ', eventId=0'],
  ['a,eventId', ', a=0 eventId=0'],
  ['"a b";eventId', '; a b=0 eventId=0'],
  ['a\teventId', '\t a=0 eventId=0'],
  ['  eventId ', ', eventId=0'],
  ['TIME  EVENT', undefined],
])('the header %j has the form %j', (line, form) => {
  expect(shownForm(formOfHeader(line))).toBe(form);
});

/** Reads one column of a text that comes in these pieces. */
function readColumn(pieces: readonly (string | Buffer)[], column: number, facts: Partial<TableForm> = {}) {
  const cells: string[] = [];
  const columns = ['a', 'b'].map((name) => ({ name, guids: 0 }));
  const form = { separator: 0x2c, hasQuotes: true, hasHeader: false, columns, ...facts };
  const reader = new TableColumnReader(form, column, (bytes, start, end) => {
    cells.push(bytes.toString('utf8', start, end).trim());
  });
  for (const piece of pieces) reader.add(Buffer.from(piece));
  return { cells, isWhole: reader.end() };
}

const TABS = { separator: 9, hasQuotes: false };
const PIPES = { separator: 0x7c, hasHeader: true };

test.each<[text: string, form: Partial<TableForm>, cells: string[], isWhole: boolean]>([
  ['1,2\n3,4\n', {}, ['2', '4'], true],
  ['1,2\n3,4', {}, ['2', '4'], true],
  ['1,2\r\n3,4\r\n', {}, ['2', '4'], true],
  ['a,b\n3,4\n', { hasHeader: true }, ['4'], true],
  ['\n \r\na,b\n3,4\n', { hasHeader: true }, ['4'], true],
  ['1\n2,\n3,4,5\n', {}, ['', '4'], true],
  ['1,2\n3', {}, ['2'], false],
  ['1,2\n3,"4', {}, ['2'], false],
  ['1,2\n3,"4\n', {}, ['2'], false],
  ['1,2\n"3', {}, ['2'], false],
  ['1,2\n\n', {}, ['2'], true],
  ['1,2\n ', {}, ['2'], true],
  ['', {}, [], true],
  ['"1,\n""",2\n3,"4\n,"\n5,6\n', {}, ['2', '"4\n,"', '6'], true],
  ['1",2\n3,4\n', {}, ['2', '4'], true],
  ['1,2"\n3,"4"5"\n', {}, ['2"', '"4"5"'], true],
  ['1\t"2\n3\t4\n', TABS, ['"2', '4'], true],
  ['+--+--+\n|a |b |\n+--+--+\n|1 |2 |\n+--+--+\n', PIPES, ['1'], true],
  ['a|b\n:--|--:\n1|2\n=|=\n(1 row)\n', PIPES, ['2'], true],
  ['a|b\n1|2\n(12 rows) \r\n', PIPES, ['2'], true],
  ['a|b\n(x) (2 rows)|3\n(2 rows) x|4\n', PIPES, ['3', '4'], true],
  ['a|b\n1|(2 rows)\n(2|rows)\n(x)|2\n(2)', PIPES, ['(2 rows)', 'rows)', '2'], false],
])('the second cells of %j with %j are %j', (text, form, cells, isWhole) => {
  expect(readColumn([text], 1, form)).toEqual({ cells, isWhole });
});

test('the first column of a table of psql holds no rule and no number of rows', () => {
  const text = ' a | b \n---+---\n 1 | 2 \n(1 row)\n\n';
  expect(readColumn([text], 0, PIPES)).toEqual({ cells: ['1'], isWhole: true });
  expect(readColumn([text.trimEnd()], 0, PIPES)).toEqual({ cells: ['1'], isWhole: true });
});

test('any table is read as its cells were written, in any pieces', () => {
  const cell = fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', 'a', ' ', 'é'), maxLength: 6 });
  const row = fc.tuple(cell, cell, fc.boolean());
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  fc.assert(
    fc.property(fc.array(row), fc.array(fc.nat(9)), fc.boolean(), (rows, sizes, isEnded) => {
      const lines = rows.map(([one, other, isBare]) => `${isBare ? 'a"' : quoted(one)},${quoted(other)}`);
      const bytes = Buffer.from(lines.join('\n') + (isEnded ? '\n' : ''));
      const pieces = sizes.map((size, index) => {
        const start = sizes.slice(0, index).reduce((sum, one) => sum + one, 0);
        return bytes.subarray(start, start + size);
      });
      const rest = bytes.subarray(sizes.reduce((sum, one) => sum + one, 0));
      const expected = rows.map(([, other]) => quoted(other));
      expect(readColumn([...pieces, rest], 1)).toEqual({ cells: expected, isWhole: true });
    }),
  );
});

test('any text at all has an end', () => {
  const text = fc.string({ unit: fc.constantFrom('"', ',', '\n', 'a'), maxLength: 30 });
  fc.assert(
    fc.property(text, fc.nat(30), (one, at) => {
      const whole = readColumn([one], 0);
      expect(readColumn([one.slice(0, at), one.slice(at)], 0)).toEqual(whole);
    }),
  );
});
