import { definitions, isMetric, type Sample } from './definitions.js';

/** The text of samples, in the format that Prometheus reads, by its library for Node, which is loaded now. */
export async function textOf(samples: readonly Sample[]): Promise<string> {
  // Where it is bundled, only the default has its names.
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
 * The samples of such a text. Metrics of other versions are left out.
 *
 * @returns `undefined` where there are metrics that are none of ours, or no metrics at all.
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
