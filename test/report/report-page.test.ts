import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { escaped, html, tableHtml, timeChart } from '../../src/report/report-charts.ts';
import { failuresTable } from '../../src/report/report-page.ts';
import type { Stats } from '../../src/stats/tallies.ts';
import { shortened } from '../../src/terminal/terminal-text.ts';
import { type Instant, instantAt } from '../../src/time/instant.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { pageOf } from '../support/outputs.ts';
import { sampleSize } from '../support/seed.ts';

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('</text><script>', ']]>', '"\'`', '{a|b}', '\u202e', '\u0000', '\ud800', '&lt;', 'a\nb'),
);

describe('text in HTML', () => {
  test('cannot end its element or attribute, or run', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const safe = escaped(text);
        expect(safe).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)/);
        expect(safe).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(Buffer.from(safe).toString()).toBe(safe);
      }),
    );
  });

  test('is escaped wherever it is in a template', () => {
    const inner = html`<b>${'<i>'}</b>`;
    expect(html`<p title="${'"'}">${inner}${[inner, inner]}${7}</p>`.text).toBe(
      '<p title="&quot;"><b>&lt;i&gt;</b><b>&lt;i&gt;</b><b>&lt;i&gt;</b>7</p>',
    );
  });

  test('is shortened between characters', () => {
    expect(shortened('🚨🚨🚨', 3)).toBe('🚨🚨🚨');
    expect(shortened('🚨🚨🚨🚨', 3)).toBe('🚨🚨…');
  });
});

describe('a table of figures', () => {
  test('is made of plain elements, whatever the texts in it', () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 5 }), (names) => {
        const rows = names.map((name, value) => [name, { share: value / 5, draw: () => '' }]);
        const { text } = tableHtml({
          heads: [{ title: names[0] as string }, { title: '', kind: 'bar' }],
          rows,
        });
        const elements = new Set([...text.matchAll(/<([^\s/>]+)/g)].map(([, name]) => name));
        for (const name of elements)
          expect([...['div', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'bdi', 'svg', 'rect']]).toContain(
            name,
          );
        expect(text).not.toMatch(/ style=|<style| on\w+=|href=/);
      }),
      { numRuns: sampleSize(20, 50) },
    );
  });

  test('has bars in proportion to their values, in the colour of the page', () => {
    const draw = () => '';
    const { text } = tableHtml({
      heads: [{ title: 'by "type"' }, { title: 'failed', kind: 'number' }, { title: '0 to 1', kind: 'bar' }],
      rows: [
        ['a', '1,200', { share: 1, draw }],
        ['b', '600', { share: 0.5, draw }],
        ['c', '0', { share: 0, draw }],
      ],
    });
    expect(text).toContain(
      '<th scope="col" class="text">by &quot;type&quot;</th><th scope="col" class="number">failed</th>',
    );
    expect(text).toContain('<td class="text"><bdi>b</bdi></td><td class="number"><bdi>600</bdi></td>');
    expect(
      [...text.matchAll(/<rect x="0%" y="0" width="([\d.]+%)" height="8" fill="var\(--failed\)"/g)].map(
        ([, width]) => width,
      ),
    ).toEqual(['100%', '50%', '0%']);
  });
});

describe('a chart', () => {
  test('over time has a bar for each part that has events, on whole numbers', () => {
    const part = (hour: number, failed: number, success: number) => ({
      from: instantAt(Date.UTC(2026, 10, 1, hour)) as Instant,
      to: instantAt(Date.UTC(2026, 10, 1, hour + 1)) as Instant,
      total: failed + success,
      failed,
      success,
    });
    const buckets = [part(1, 1, 40), part(2, 0, 0), part(3, 2, 5)];
    const window = {
      after: buckets[0]?.from,
      before: buckets[2]?.to,
      zone: UTC,
      queries: [],
      status: undefined,
    };
    const stats = {
      total: 48,
      failed: 3,
      success: 45,
      types: [],
      moved: false,
      window,
      buckets,
    } as unknown as Stats;
    const { text } = timeChart(stats);
    const heights = (role: string) =>
      [...text.matchAll(new RegExp(`height="([\\d.]+)" fill="var\\(--${role}\\)"`, 'g'))].map(([, height]) =>
        Number(height),
      );
    expect(heights('failed')).toEqual([63, 126]);
    expect(heights('success')).toEqual([126, 15.75]);
    const [scale = '', bars = ''] = text.split('</svg>');
    const wordsIn = (svg: string) => [...svg.matchAll(/>([^<>]+)<\/text>/g)].map(([, words]) => words);
    // The figures of the scale are in a drawing of their own beside the bars.
    expect(wordsIn(scale)).toEqual([...['0', '1', '2'], ...['0', '20', '40']]);
    expect(scale).not.toContain('<rect');
    expect(wordsIn(bars)).toEqual([...['failed', 'delivered'], ...['01:00', '02:00', '03:00']]);
  });
});

describe('the table of failures', () => {
  test('leaves out the status, and says why each delivery failed', () => {
    const { text } = failuresTable(
      pageOf([
        '{"createdOn":"2026-01-03","publishStatus":"FAILED","delivery":{"lastError":{"httpStatus":503,"message":"busy"}}}',
        '{"createdOn":"2026-01-02","publishStatus":"FAILED"}',
      ]),
      UTC,
    );
    expect([...text.matchAll(/<bdi>([^<]*)</g)].map(([, cell]) => cell)).toEqual([
      ...['2026-01-03', '503 busy'],
      ...['2026-01-02', ''],
    ]);
    expect(text).not.toContain('data-name="publishStatus"');
  });

  test('cuts an event that is too long for a page', () => {
    const { text } = failuresTable(pageOf([`{"a":"${'y'.repeat(200_000)}"}`]), UTC);
    expect(text.length).toBeLessThan(60_000);
    expect(text).toMatch(/…\n\n\(cut: 150\d\d\d more characters; `hooktrail events get` shows all\)/);
  });
});
