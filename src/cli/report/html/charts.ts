import { LineChart, SankeyChart } from 'echarts/charts';
import { GridComponent, LegendComponent } from 'echarts/components';
import { init, use, type EChartsCoreOption } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { Timeline } from '../timeline.js';
import type { Flow, FlowNode } from './flow.js';

use([LineChart, SankeyChart, GridComponent, LegendComponent, SVGRenderer]);

/** Placeholders for colour variables of the page, so that one picture is right in light and dark. */
const colours = { text: '#0a0b01', faint: '#0a0b02', way: '#0a0b03', lost: '#0a0b04', added: '#0a0b05', back: '#0a0b06' } as const;

/** Size of a picture in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Draws the flow of rows as SVG, from top to bottom if there is little space next to each other. */
export function flowChart({ nodes, links }: Flow, size: Size): string {
  const upright = size.width < 500;
  const room = (size.width - 2 * beside) / Math.max(...nodes.map((node) => rowsAt(node, links)));
  const labelOf = (node: FlowNode) => {
    const isInside = upright && node.kind === 'way' && room * rowsAt(node, links) > widthOf(node.label);
    return {
      position: upright ? (isInside ? 'inside' : 'bottom') : 'right',
      color: isInside ? colours.back : colours.text,
      formatter: () => (upright && !isInside ? node.label.replace(' by ', '\nby ') : node.label),
    };
  };
  return drawn(size, {
    series: [
      {
        type: 'sankey',
        orient: upright ? 'vertical' : 'horizontal',
        silent: true,
        draggable: false,
        left: upright ? beside : 8,
        top: 16,
        right: upright ? beside : 190,
        bottom: upright ? 56 : 16,
        nodeWidth: upright ? 50 : 14,
        nodeGap: upright ? 80 : 22,
        nodeAlign: 'left',
        layoutIterations: 0,
        label: { fontSize: 12, lineHeight: 15 },
        lineStyle: { opacity: 0.3, curveness: 0.5 },
        data: nodes.map((node) => ({ name: node.name, itemStyle: { color: colours[node.kind] }, label: labelOf(node) })),
        links: links.map((link) => ({ ...link, lineStyle: { color: colours[kindOf(link, nodes)] } })),
      },
    ],
  });
}

/** Pixels on both sides of an upright picture, into which the label of a narrow place extends. */
const beside = 76;

/** Returns the rows that arrive at a place, or leave the first one. */
function rowsAt({ name }: FlowNode, links: Flow['links']): number {
  const sumOf = (key: 'source' | 'target') => links.filter((link) => link[key] === name).reduce((sum, { value }) => sum + value, 0);
  return Math.max(sumOf('source'), sumOf('target'));
}

/** Returns the approximate width of a label in pixels. */
function widthOf(label: string): number {
  return 7 * Math.max(...label.split('\n').map((line) => line.length));
}

function kindOf({ source, target }: Flow['links'][number], nodes: readonly FlowNode[]): FlowNode['kind'] {
  const kinds = [source, target].map((name) => nodes.find((node) => node.name === name)?.kind);
  return kinds.find((kind) => kind !== 'way') ?? 'way';
}

/** Draws rows per second over time, as SVG. */
export function throughputChart({ intervalMs, intervals }: Timeline, size: Size): string {
  const points = intervals.map(({ rows }, index) => [((index + 0.5) * intervalMs) / 1000, Math.round((rows * 1000) / intervalMs)]);
  return drawn(size, lines('rows/s', [{ name: 'rows/s', points, colour: colours.way, filled: true }]));
}

/** Draws the milliseconds that requests took over time, as SVG. */
export function latencyChart({ intervalMs, intervals }: Timeline, size: Size): string {
  const answered = intervals.flatMap((interval, index) =>
    interval.requests > 0 ? [{ ...interval, at: ((index + 0.5) * intervalMs) / 1000 }] : [],
  );
  const mean = answered.map(({ at, latencyMs, requests }) => [at, Math.round(latencyMs / requests)]);
  const longest = answered.map(({ at, longestMs }) => [at, Math.round(longestMs)]);
  return drawn(
    size,
    lines('ms', [
      { name: 'mean', points: mean, colour: colours.way, filled: false },
      { name: 'longest', points: longest, colour: colours.lost, filled: false },
    ]),
  );
}

interface Line {
  readonly name: string;
  readonly points: readonly (readonly number[])[];
  readonly colour: string;
  readonly filled: boolean;
}

function lines(unit: string, all: readonly Line[]): EChartsCoreOption {
  const axis = {
    nameTextStyle: { color: colours.text },
    axisLabel: { color: colours.text },
    splitLine: { lineStyle: { color: colours.faint } },
  };
  return {
    grid: { left: 56, right: 28, top: 34, bottom: 26 },
    ...(all.length > 1 && {
      legend: { icon: 'roundRect', top: 0, right: 8, textStyle: { color: colours.text }, data: all.map(({ name }) => name) },
    }),
    xAxis: {
      ...axis,
      type: 'value',
      name: 's',
      nameLocation: 'end',
      nameGap: 10,
      min: 0,
      splitLine: { show: false },
      axisLine: { lineStyle: { color: colours.faint } },
    },
    yAxis: { ...axis, type: 'value', name: unit, min: 0 },
    series: all.map(({ name, points, colour, filled }) => ({
      type: 'line',
      name,
      data: points,
      silent: true,
      showSymbol: points.length === 1,
      lineStyle: { color: colour, width: 1.5 },
      itemStyle: { color: colour },
      ...(filled && { areaStyle: { color: colour, opacity: 0.15 } }),
    })),
  };
}

/** Matches what nothing on the page refers to: styles and classes for the pointer, and hooks for scripts of the library. */
const unused = /<style[^]*?<\/style>| (?:ecmeta_\w+|class|pointer-events|xmlns:xlink|version|baseProfile)="[^"]*"/g;

/** Draws a picture that fits its place and takes its colours from the page. */
function drawn(size: Size, option: EChartsCoreOption): string {
  const chart = init(undefined, undefined, { renderer: 'svg', ssr: true, ...size });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: 'inherit' }, ...option });
    const svg = chart.renderToSVGString().replaceAll(unused, '');
    return Object.entries(colours).reduce((text, [name, colour]) => text.replaceAll(colour, `var(--${name})`), svg);
  } finally {
    chart.dispose();
  }
}
