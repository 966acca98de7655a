import { grouped } from '../../terminal/numbers-text.ts';
import { bothWidths, colors, drawn } from './chart.ts';
import { escaped, type Html, shortened, visible } from './html.ts';

export interface Rank {
  readonly name: string;
  readonly value: number;
  /** Said behind the number, such as a share. */
  readonly note?: string;
}

const ROW = 34;

/** Bars below each other, largest first, the name above each bar: long names have room on a phone too. */
export function rankChart(title: string, ranks: readonly Rank[]): Html {
  const label = escaped(`${title}: ${ranks.length} bars, the largest is ${ranks[0]?.name}`);
  return bothWidths((width) => {
    const characters = width > 500 ? 110 : 34;
    return drawn(
      {
        grid: { left: 2, right: 2, top: 6, bottom: 6 },
        xAxis: { type: 'value', show: false, min: 0 },
        yAxis: {
          type: 'category',
          inverse: true,
          show: false,
          data: ranks.map((_, index) => index),
        },
        series: [
          {
            type: 'bar',
            barWidth: 8,
            barMinHeight: 2,
            data: ranks.map(({ value }) => value),
            itemStyle: { color: colors.failed, borderRadius: 2 },
            label: {
              show: true,
              position: [0, -16],
              color: colors.ink,
              fontSize: 13,
              formatter: ({ dataIndex }: { dataIndex: number }) => {
                const { name, value, note } = ranks[dataIndex] as Rank;
                return `${grouped(value)}  ${shortened(oneLine(name), characters)}${note ? `  (${note})` : ''}`;
              },
            },
          },
        ],
      },
      width,
      ranks.length * ROW + 12,
      label,
    );
  });
}

/** The library takes a line feed for the end of a line, and what stands in braces for a template. */
function oneLine(name: string): string {
  return visible(name).replace(/\s+/g, ' ');
}
