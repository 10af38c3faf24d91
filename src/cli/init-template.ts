import { collectionNames, collections, starterJoins, type CollectionName } from '../collections/index.js';

/** Destination of the rows of a new pipeline. */
export const destinations = ['parquet', 'csv', 'ndjson', 'stdout'] as const;

export type Destination = (typeof destinations)[number];

/** The answers that a new pipeline is made from. */
export interface Wanted {
  readonly name: string;
  readonly from: CollectionName;
  /** Collections to join. */
  readonly joins: readonly CollectionName[];
  readonly to: Destination;
}

/** Returns the collections that a collection can be joined with. */
export function joinsOf(from: CollectionName): readonly CollectionName[] {
  return collectionNames.filter((other) => joinLines(from, other).length > 0);
}

/** Returns the steps that join two collections, as lines of a file; none if the rows of the first do not refer to the second. */
function joinLines(from: CollectionName, other: CollectionName): readonly string[] {
  const join = other === from ? undefined : starterJoins[other];
  return join !== undefined && Object.hasOwn(collections[from].fields, join.by) ? join.lines.map((line) => `  ${line}`) : [];
}

const sinks: Readonly<Record<Destination, (name: string) => string>> = {
  parquet: (name) => `  # A table with types: readers use out/${name}/*.parquet\n  - parquet: { path: out/${name} }`,
  csv: (name) => `  - csv: { path: out/${name}.csv }`,
  ndjson: (name) => `  - ndjson: { path: out/${name}.ndjson }`,
  stdout: () => '  - stdout: {} # one JSON object per line',
};

/**
 * Returns the text of a new pipeline file, with comments.
 *
 * @param schema Location of the JSON Schema of pipeline files, for editors.
 */
export function pipelineTextOf({ name, from, joins: others, to }: Wanted, schema: string): string {
  const file = `${name}.yaml`;
  return [
    `# yaml-language-server: $schema=${schema}`,
    `# ${from}${others.length === 0 ? '' : ` with ${others.join(' and ')}`}, to ${to}.`,
    '#',
    '# Check it without a request, preview the first rows, and run it:',
    `#   leadstream validate ${file}`,
    `#   leadstream preview ${file} --env .env`,
    `#   leadstream run ${file} --env .env`,
    `name: ${name}`,
    'service:',
    '  base_url: ${LEADSTREAM_BASE_URL}',
    '  auth:',
    '    # Never the key itself. Or authorized_uid and authorized_rest_api_key.',
    '    rest_api_key: ${LEADSTREAM_REST_API_KEY}',
    '  limit: 500 # rows per request',
    `from: ${from}`,
    'steps:',
    `  - dedupe: {} # by the key, ${new Intl.ListFormat('en-GB').format(collections[from].key)}`,
    ...others.flatMap((other) => joinLines(from, other)),
    'to:',
    sinks[to](name),
    '',
  ].join('\n');
}

/** Text of `.env.example`: the variables that a pipeline uses. */
export const envExample = [
  '# Copy to .env, fill in, and keep it out of version control: leadstream run FILE --env .env',
  '# Everything before /api',
  'LEADSTREAM_BASE_URL=',
  '# At least 8 characters',
  'LEADSTREAM_REST_API_KEY=',
  '',
].join('\n');

/** Lines of `.gitignore`. */
export const ignored = ['.env', '.leadstream/', 'out/'] as const;
