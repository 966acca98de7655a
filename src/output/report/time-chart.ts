import type { Stats } from '../../events/statistics.ts';
import { timeLabels } from '../statistics-text.ts';
import { bothWidths, colors, drawn } from './chart.ts';
import { escaped, type Html } from './html.ts';

/** Failures over time, and below them, on a scale of their own, what went well. */
export function timeChart(stats: Stats): Html {
  const labels = stats.buckets.map(timeLabels(stats.buckets));
  const panels = [
    { name: 'failed', color: colors.failed, values: stats.buckets.map(({ failed }) => failed ?? 0) },
    ...(stats.success === null
      ? []
      : [
          {
            name: 'delivered',
            color: colors.success,
            values: stats.buckets.map(({ success }) => success ?? 0),
          },
        ]),
  ];
  const label = escaped(`${panels.map(({ name }) => name).join(' and ')} events over time (UTC)`);
  const panelHeight = 150;
  const height = 40 + panels.length * (panelHeight + 30);
  return bothWidths((width) =>
    drawn(
      {
        grid: panels.map((_, index) => ({
          left: 56,
          right: 12,
          top: 30 + index * (panelHeight + 30),
          height: panelHeight - 12,
        })),
        xAxis: panels.map((_, index) => ({
          type: 'category',
          gridIndex: index,
          data: labels,
          axisLine: { lineStyle: { color: colors.rule } },
          axisTick: { show: false },
          axisLabel: {
            show: index === panels.length - 1,
            color: colors.muted,
            hideOverlap: true,
            // The library guesses the width of texts: two more characters keep them apart in any font.
            interval: Math.ceil((labels.length * ((labels[0]?.length ?? 0) + 3) * 7) / (width - 70)) - 1,
          },
        })),
        yAxis: panels.map(({ name }, index) => ({
          type: 'value',
          gridIndex: index,
          name,
          minInterval: 1,
          splitNumber: 3,
          nameTextStyle: { color: colors.ink, align: 'left', fontWeight: 'bold', padding: [0, 0, 0, -48] },
          nameGap: 12,
          axisLabel: { color: colors.muted, formatter: compact },
          splitLine: { lineStyle: { color: colors.rule } },
        })),
        series: panels.map(({ color, values }, index) => ({
          type: 'bar',
          xAxisIndex: index,
          yAxisIndex: index,
          // Nothing is drawn for none; a zero would get the least height.
          data: values.map((value) => value || '-'),
          barCategoryGap: '15%',
          // What is there shows.
          barMinHeight: 2,
          itemStyle: { color },
        })),
      },
      width,
      height,
      label,
    ),
  );
}

const compactNumber = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

function compact(value: number): string {
  return compactNumber.format(value);
}
