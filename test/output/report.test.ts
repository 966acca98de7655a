import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Stats } from '../../src/events/statistics.ts';
import { escaped, html, rankChart, shortened, timeChart } from '../../src/output/report/report-charts.ts';
import { failuresTable } from '../../src/output/report/report-page.ts';
import { type Instant, instantAt } from '../../src/time/instant.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { pageOf } from '../support/outputs.ts';

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

describe('a chart', () => {
  test('is SVG of plain elements, whatever the names in it', () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 5 }), (names) => {
        const { text } = rankChart(
          'By type',
          names.map((name, value) => ({ name, value, figure: String(value) })),
        );
        const elements = new Set([...text.matchAll(/<([^\s/>]+)/g)].map(([, name]) => name));
        for (const name of elements)
          expect(['div', 'svg', 'g', 'path', 'text', 'rect', 'defs']).toContain(name);
        expect(text).not.toMatch(/ style=|<style| on\w+=|href=/);
      }),
      { numRuns: 50 },
    );
  });

  test('gets its colours from the page, and has bars in proportion to their values', () => {
    const { text } = rankChart('By "type"', [
      { name: 'a', value: 0.5, figure: '50 %', note: '1 of 2' },
      { name: 'b', value: 0.25, figure: '25 %' },
      { name: 'c', value: 0, figure: '0 %' },
    ]);
    expect(text).toMatch(
      /^<div class="chart"><svg role="img" aria-label="By &quot;type&quot;: 3 bars, the first is a" focusable="false" height="102">/,
    );
    expect(
      [...text.matchAll(/<rect x="0%" y="\d+" width="([\d.]+%)" height="8" fill="var\(--failed\)"/g)].map(
        ([, width]) => width,
      ),
    ).toEqual(['100%', '50%', '0%']);
    expect(text).toContain('>50 %\u2002a\u2002(1 of 2)</text>');
  });

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
    expect([...text.matchAll(/>([^<>]+)<\/text>/g)].map(([, words]) => words)).toEqual([
      ...['failed', '1', '2'],
      ...['delivered', '20', '40'],
      ...['01:00', '02:00', '03:00'],
    ]);
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
