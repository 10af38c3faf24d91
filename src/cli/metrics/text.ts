import { definitions, isMetric, type Sample } from './definitions.js';

/** Formats samples for Prometheus, with its library for Node, which is loaded only now. */
export async function textOf(samples: readonly Sample[]): Promise<string> {
  // In a bundle, only the default export has its names.
  const { default: prom } = await import('prom-client');
  const { Gauge, Registry } = prom;
  const registry = new Registry();
  for (const [name, { help, labels }] of Object.entries(definitions)) {
    const own = samples.filter((sample) => sample.name === name);
    if (own.length === 0) continue;
    const gauge = new Gauge<string>({ name, help, labelNames: [...labels], registers: [registry] });
    for (const { labels: given, value } of own) gauge.set(given, value);
  }
  return registry.metrics();
}

/**
 * Parses the samples in such a text. Leaves out metrics of other versions.
 *
 * @returns `undefined` if there are metrics other than ours, or anything that is not a metric.
 */
export function samplesIn(text: string): readonly Sample[] | undefined {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s.exec(line) ?? [];
    if (name === undefined || !name.startsWith('leadstream_') || Number.isNaN(Number(value))) return undefined;
    if (isMetric(name)) samples.push({ name, labels: labelsIn(labels), value: Number(value) });
  }
  return samples;
}

function labelsIn(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/gs)];
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, unescaped(value)]));
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));
}
