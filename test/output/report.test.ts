import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawn } from '../../src/output/report/chart.ts';
import { failuresTable } from '../../src/output/report/failures-table.ts';
import { escaped, html, shortened } from '../../src/output/report/html.ts';
import { rankChart } from '../../src/output/report/rank-chart.ts';
import { pageOf } from '../support/outputs.ts';

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('</text><script>', ']]>', '"\'`', '{a|b}', '\u202e', '\u0000', '\ud800', '&lt;', 'a\nb'),
);

describe('text in HTML', () => {
  test('cannot end its element or attribute, nor act', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const safe = escaped(text);
        expect(safe).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)/);
        expect(safe).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(Buffer.from(safe).toString()).toBe(safe);
      }),
    );
  });

  test('is escaped wherever it stands in a template', () => {
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

describe('a chart', () => {
  test('is SVG of plain elements, whatever the names in it', () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 5 }), (names) => {
        const { text } = rankChart(
          'By type',
          names.map((name, value) => ({ name, value })),
        );
        const elements = new Set([...text.matchAll(/<([^\s/>]+)/g)].map(([, name]) => name));
        for (const name of elements)
          expect(['div', 'svg', 'g', 'path', 'text', 'rect', 'defs']).toContain(name);
        expect(text).not.toMatch(/ style=|<style| on\w+=|href=/);
      }),
      { numRuns: 50 },
    );
  });

  test('has its colours from the page', () => {
    const svg = drawn(
      {
        xAxis: { type: 'category', data: ['a'] },
        yAxis: {},
        series: [{ type: 'bar', data: [1], itemStyle: { color: '#040404' } }],
      },
      300,
      200,
      'a label',
    );
    expect(svg).toMatch(/^<svg role="img" aria-label="a label"/);
    expect(svg).toContain('fill="var(--failed)"');
  });
});

describe('the table of failures', () => {
  test('is cut to the limit, the newest first', () => {
    const pages = [
      pageOf(['{"createdOn":"2026-01-01","publishStatus":"FAILED"}']),
      pageOf(['{"createdOn":"2026-01-03","publishStatus":"FAILED"}', '{"createdOn":"2026-01-02"}']),
    ];
    const { table, shown } = failuresTable(pages, 2);
    expect(shown).toBe(2);
    expect([...table.text.matchAll(/<bdi>([^<]*)</g)].map(([, text]) => text)).toEqual([
      '2026-01-03',
      '2026-01-02',
    ]);
    expect(table.text).not.toContain('data-name="publishStatus"');
  });

  test('cuts an event that is too long for a page', () => {
    const { table } = failuresTable([pageOf([`{"a":"${'y'.repeat(200_000)}"}`])], 1);
    expect(table.text.length).toBeLessThan(60_000);
    expect(table.text).toMatch(/…\n\n\(cut: 150\d\d\d more characters; `hooktrail events get` shows all\)/);
  });
});
