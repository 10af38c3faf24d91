import type { CollectionName } from '../collections/index.js';

/** Where the rows of a new pipeline go. */
export const destinations = ['parquet', 'csv', 'ndjson', 'stdout'] as const;

export type Destination = (typeof destinations)[number];

/** What a new pipeline is to do. */
export interface Wanted {
  readonly name: string;
  readonly from: CollectionName;
  /** The other collections that it joins. */
  readonly joins: readonly CollectionName[];
  readonly to: Destination;
}

const keys: Readonly<Record<CollectionName, string>> = {
  leads: 'lead_id',
  bridges: 'id',
  areacodes: 'area_code, city and state',
  links: 'id',
  users: 'uid',
};

const bridge = [
  '  - join: # adds bridge_title and bridge_niche',
  '      with: bridges',
  '      on: { bridge_id: id }',
  '      as: bridge',
  '      select: [title, niche]',
];
const user = ['  # Adds user_affid.', '  - join: { with: users, on: { uid: uid }, as: user, select: [affid] }'];

/** The joins of each collection, as lines of a file. */
const joins: Readonly<Record<CollectionName, Readonly<Partial<Record<CollectionName, readonly string[]>>>>> = {
  leads: {
    bridges: bridge,
    areacodes: [
      '  - derive: { zip_city: zip_city(zipcode), zip_state: zip_state(zipcode) }',
      '  - join:',
      '      with: areacodes',
      '      on: { zip_state: state, zip_city: city }',
      '      normalize: casefold # whatever the case',
      '      pick: { max: percent_of_area_code_in_city } # of several, the main one',
      '      as: area',
      '      select: [area_code, city_population]',
    ],
    users: user,
  },
  bridges: { users: user },
  areacodes: {},
  links: { bridges: bridge, users: user },
  users: {},
};

/** The collections that a collection can be joined with. */
export function joinsOf(from: CollectionName): readonly CollectionName[] {
  return Object.keys(joins[from]) as readonly CollectionName[];
}

const sinks: Readonly<Record<Destination, (name: string) => string>> = {
  parquet: (name) => `  # A table with types: readers use out/${name}/*.parquet\n  - parquet: { path: out/${name} }`,
  csv: (name) => `  - csv: { path: out/${name}.csv }`,
  ndjson: (name) => `  - ndjson: { path: out/${name}.ndjson }`,
  stdout: () => '  - stdout: {} # one JSON object per line',
};

/**
 * The text of a new pipeline file, with comments.
 *
 * @param schema Where the JSON Schema of pipeline files is, for editors.
 */
export function pipelineTextOf({ name, from, joins: others, to }: Wanted, schema: string): string {
  const file = `${name}.yaml`;
  return [
    `# yaml-language-server: $schema=${schema}`,
    `# ${from}${others.length === 0 ? '' : ` with ${others.join(' and ')}`}, to ${to}.`,
    '#',
    '# Without a request; with the first rows; and with everything:',
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
    `  - dedupe: {} # by the key, ${keys[from]}`,
    ...others.flatMap((other) => joins[from][other] ?? []),
    'to:',
    sinks[to](name),
    '',
  ].join('\n');
}

/** What a pipeline takes from the environment. */
export const envExample = [
  '# Copy to .env, fill in, and keep it out of version control: leadstream run FILE --env .env',
  '# Everything before /api',
  'LEADSTREAM_BASE_URL=',
  '# At least 8 characters',
  'LEADSTREAM_REST_API_KEY=',
  '',
].join('\n');

/** What is not for version control. */
export const ignored = ['.env', '.leadstream/', 'out/'] as const;
