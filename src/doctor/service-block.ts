import { stringify } from 'yaml';

/** The parts of a block `service`. */
export interface ServiceBlock {
  /** What the file already has under `service`, as written; environment variables by their placeholders. */
  readonly given: Readonly<Record<string, unknown>>;
  /** Only if a list with page numbers does not declare its first page. */
  readonly firstPage: 0 | 1 | undefined;
  /** Only if requests send a page size. */
  readonly limit: number | undefined;
  /** Only if the service refused more. */
  readonly concurrency: number | undefined;
  /** If another form of credentials works than the given one, what to put into the variable. */
  readonly otherKey: string | undefined;
}

/** Returns the block as YAML: the given parts, with the results in their places. */
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
  return text.replace(/^(\s+rest_api_key: .*)$/m, `$1 # set it to ${otherKey}`);
}
