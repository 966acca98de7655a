import { BarChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { Html } from './html.ts';

use([BarChart, GridComponent, SVGRenderer]);

/**
 * Colours by role. The library works with fixed colours; each becomes a custom property of the page, so that one drawing
 * serves the light and the dark scheme, and paper.
 */
export const colors = {
  ink: '#010101',
  muted: '#020202',
  rule: '#030303',
  failed: '#040404',
  success: '#050505',
} as const;

export const FONT = 'system-ui, sans-serif';

/** Draws a chart as SVG that needs neither script nor style attribute; `label` is what it says to those who do not see it. */
export function drawn(option: EChartsCoreOption, width: number, height: number, label: string): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: FONT }, ...option });
    return adapted(chart.renderToSVGString(), label);
  } finally {
    chart.dispose();
  }
}

function adapted(svg: string, label: string): string {
  return (
    svg
      // What it does under the pointer; the page's policy takes no other style sheet than its own.
      .replace(/<style\b[\s\S]*?<\/style>/g, '')
      .replace(/<[a-zA-Z][^>]*>/g, (tag) => tag.replace(/ style="([^"]*)"/, (_, style) => attributes(style)))
      .replace(
        / (fill|stroke)="#(0([1-5]))\2\2"/g,
        (_, name, _pair, role) => ` ${name}="var(--${roles[role - 1]})"`,
      )
      // The page's scale, not the drawing's, decides how large it is.
      .replace(/^<svg width="[^"]*" height="[^"]*"/, '<svg')
      .replace(/^<svg/, `<svg role="img" aria-label="${label}" focusable="false"`)
  );
}

const roles = Object.keys(colors);

/** A style attribute as the attributes of the same names (SVG 2, section 6.6): the page's policy takes no inline style. */
function attributes(style: string): string {
  return style
    .split(';')
    .flatMap((declaration) => {
      const at = declaration.indexOf(':');
      const [name, value] = [declaration.slice(0, at).trim(), declaration.slice(at + 1).trim()];
      return /^(font-(size|family|weight|style)|fill|stroke|paint-order|dominant-baseline|text-anchor)$/.test(
        name,
      )
        ? [` ${name}="${value}"`]
        : [];
    })
    .join('');
}

/** The same chart twice, for a wide and for a narrow page; the style shows one of them. */
export function bothWidths(draw: (width: number) => string): Html {
  return new Html(
    `<div class="chart wide">${draw(1000)}</div><div class="chart narrow" aria-hidden="true">${draw(360)}</div>`,
  );
}
