import { stringify } from 'yaml';

/** What a block `service` is made of. */
export interface ServiceBlock {
  /** What the file has under `service` already, as it is written; of the environment what stands for it. */
  readonly given: Readonly<Record<string, unknown>>;
  /** Only where a list is read by page numbers and does not declare the first. */
  readonly firstPage: 0 | 1 | undefined;
  /** Only where requests name a page size. */
  readonly limit: number | undefined;
  /** Only where the service refused more. */
  readonly concurrency: number | undefined;
  /** Where another form of credentials works than the one given: what has to be put into the variable. */
  readonly otherKey: string | undefined;
}

/** The block as YAML: what was given, with what was found out in its place. */
export function writtenBlock({ given, firstPage, limit, concurrency, otherKey }: ServiceBlock): string {
  const { window, ...kept } = given;
  const service = {
    ...kept,
    ...(otherKey !== undefined && { auth: { rest_api_key: '${LEADSTREAM_REST_API_KEY}' } }),
    ...(firstPage !== undefined && { first_page: String(firstPage) }),
    ...(limit !== undefined && { limit: String(limit) }),
    ...(concurrency === undefined ? window !== undefined && { window } : { concurrency: String(concurrency) }),
  };
  const text = stringify({ service }, { schema: 'failsafe', lineWidth: 0 });
  if (otherKey === undefined) return text;
  return text.replace(/^(\s+rest_api_key: .*)$/m, `$1 # to be set to ${otherKey}`);
}
