/** The differences between the measured pipelines. */
export interface PipelineVariant {
  readonly steps: readonly ('dedupe' | 'derive' | 'joins')[];
  /** One sink, as written in a pipeline file. */
  readonly to: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Default: that of the product. */
  readonly consistency?: 'off';
  /** Whether pages are spooled. Default: that of the product. */
  readonly spool?: 'off';
}

const steps = {
  dedupe: [{ dedupe: {} }],
  derive: [{ derive: { zip_city: 'zip_city(zipcode)', zip_state: 'zip_state(zipcode)' } }],
  joins: [
    { join: { with: 'bridges', on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'niche'] } },
    {
      join: {
        with: 'areacodes',
        on: { zip_state: 'state', zip_city: 'city' },
        normalize: 'casefold',
        pick: { max: 'percent_of_area_code_in_city' },
        as: 'area',
        select: ['area_code', 'city_population'],
      },
    },
  ],
} as const;

/** Where a pipeline reads from. */
export interface Reading {
  readonly baseUrl: string;
  readonly limit: number;
  readonly concurrency: number;
}

/** Returns the text of a pipeline file (JSON, which is also YAML). Outputs are relative; the key is the variable `BENCH_KEY`. */
export function pipelineText({ steps: names, to, consistency, spool }: PipelineVariant, { baseUrl, limit, concurrency }: Reading): string {
  return JSON.stringify({
    name: 'bench',
    // A first run waits where its list ends with a full page, as every list here does: that is a time, and not work.
    service: { base_url: baseUrl, auth: { rest_api_key: '${BENCH_KEY}' }, limit, concurrency, window: 2 * concurrency, end_wait: '1ms' },
    from: 'leads',
    ...(consistency && { consistency }),
    ...(spool && { spool }),
    steps: names.flatMap((name): readonly object[] => steps[name]),
    to: [to],
  });
}
