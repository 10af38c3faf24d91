import { describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { checkDocuments } from '../../../src/pipeline/spec/check-documents.js';
import { pipelineShape } from '../../../src/pipeline/spec/spec.js';
import { schemaOf, sinkDefinitions } from '../../../src/pipeline/spec/json-schema.js';
import { loadSteps } from '../../../src/steps/index.js';
import { rung } from '../../support/rung.js';

type Path = readonly (string | number)[];

const service = {
  base_url: 'https://leads.example',
  auth: { header: { name: 'X-Key', value: '${KEY}' } },
  limit: '100',
  concurrency: '4',
  window: '8',
  first_page: '1',
  max_pages: '100',
  end_wait: '1s',
  strict: 'false',
  deadline: '1h',
  rate_limit: '20/s',
  threads: '0',
  timeout: '30s',
  max_page_bytes: '1000000',
  retry: { attempts: '3', base: '500ms', cap: '30s' },
};

/** A pipeline that has every key, each with a value that is right. */
const whole = {
  name: 'p',
  service,
  collections: {
    orders: {
      path: '/v2/orders',
      key: ['id'],
      paging: { scheme: 'cursor', param: 'after', limit: 'size', next: '/next', more: '/more' },
      rows: '/items',
      query: { status: 'any' },
      end: 'no_rows',
      undeclared: 'drop',
      fields: { id: 'text', total: { type: 'decimal', sensitivity: 'plain', at: '/sum/total' } },
    },
  },
  from: 'leads',
  reveal: [],
  on_error: 'reject',
  consistency: 'check',
  max_passes: '2',
  allow_unstable: 'false',
  spool: { max_age: '6h' },
  steps: [
    { dedupe: { by: ['lead_id'] } },
    { filter: "lead_status == 'sold'" },
    { derive: { zip_state: 'zip_state(zipcode)' } },
    { limit: '1000' },
  ],
  to: [{ csv: { path: 'out/p.csv', delimiter: ';' } }, { parquet: { path: 'out/p', sort_by: ['timestamp desc'], keep: '2' } }],
  rejects: { path: 'out/rejects.ndjson', max: '1%', rows: 'false' },
  expect: {
    min_rows: '10',
    max_null: { zipcode: '5%' },
    not_null: ['lead_id'],
    unique: ['lead_id', ['email', 'zipcode']],
    accepted_values: { lead_status: ['sold', 'open'] },
  },
  on_new_field: 'next_run',
  schema: 'evolve',
  on_success: { webhook: '${HOOK}' },
  on_failure: { webhook: '${HOOK}' },
};

interface Fault {
  /** The keys that it is made of: a value that is unknown there may be the fault, or its remedy. */
  readonly keys: readonly string[];
  readonly said: RegExp;
}

/** Files with faults of all kinds, the first right in its shape. */
const faulty: readonly { readonly file: object; readonly faults: readonly Fault[] }[] = [
  {
    file: {
      ...whole,
      service: { ...service, strict: 'true' },
      steps: [{ filter: "is_valid == 'yes'" }],
      to: [{ csv: { path: 'out/p.csv' } }, { csv: { path: 'out/p.csv' } }],
      rejects: { path: 'out/p.csv' },
      expect: { not_null: ['nope'], max_read_shrink: { laeds: '5%' } },
      on_new_field: 'restart',
      schema: 'freeze',
    },
    faults: [
      { keys: ['on_new_field', 'schema'], said: /schema: freeze refuses every new field/ },
      { keys: ['rejects', 'to'], said: /a sink writes to/ },
      { keys: ['to'], said: /writes to the same or an overlapping path/ },
      { keys: ['expect', 'steps', 'reveal', 'from'], said: /no column 'nope'/ },
      { keys: ['expect', 'from'], said: /laeds is not read here/ },
      { keys: ['service.strict', 'steps', 'reveal', 'from'], said: /is_valid is a flag/ },
    ],
  },
  {
    file: {
      ...whole,
      rejects: { max: 'many', path: 'out/p.csv' },
      spool: { max_age: '1h', keep: '1' },
      steps: [{ limit: '0' }, { filter: 'nobody == 1' }],
      expect: { min_rows: '1', not_null: ['nope'] },
      on_new_field: 'restart',
      schema: 'freeze',
    },
    faults: [
      { keys: ['rejects.max'], said: /max: must be written like 1% or 100/ },
      { keys: [], said: /unknown key 'keep'/ },
      { keys: ['steps'], said: /limit: must be at least 1/ },
      { keys: ['steps', 'reveal', 'from'], said: /unknown field 'nobody'/ },
      { keys: ['expect', 'steps', 'reveal', 'from'], said: /no column 'nope'/ },
      { keys: ['on_new_field', 'schema'], said: /schema: freeze refuses every new field/ },
    ],
  },
];

/** Every fourth of many places, or all, in soak. */
const some = <T>(places: readonly T[]): readonly T[] =>
  rung(
    places.filter((_, index) => index % 4 === 0),
    places,
  );

describe('an unset reference', () => {
  test('has a place in the sample for every key that there is', () => {
    const keys = Object.keys(schemaOf(pipelineShape()).properties ?? {});
    expect(keys.filter((key) => key !== 'tests' && !Object.hasOwn(whole, key))).toEqual([]);
    expect(Object.keys(schemaOf(pipelineShape()).properties?.service?.properties ?? {}).toSorted()).toEqual(
      Object.keys(service).toSorted(),
    );
  });

  test('is nothing wrong, wherever it stands', async () => {
    expect(await problemsOf(whole)).toEqual([]);
    const wrong: string[] = [];
    for (const [path, value] of some(scalarsIn(whole))) {
      for (const text of textsFor(value))
        wrong.push(...(await problemsOf(withIn(whole, path, text))).map((said) => `${path.join('.')} = ${text}: ${said}`));
    }
    expect(wrong).toEqual([]);
  });

  test('hides nothing of what is wrong beside it', async () => {
    const hidden: string[] = [];
    for (const { file, faults } of faulty) {
      const all = (await problemsOf(file)).join('\n');
      for (const { said } of faults) expect(all).toMatch(said);
      for (const [path] of some(scalarsIn(file))) {
        const found = (await problemsOf(withIn(file, path, '${UNSET}'))).join('\n');
        const beside = faults.filter(({ keys }) => !keys.some((key) => path.join('.').startsWith(key)));
        hidden.push(
          ...beside.filter(({ said }) => !said.test(found)).map(({ said }) => `${path.join('.')}: ${String(said)}, found ${found}`),
        );
      }
    }
    expect(hidden).toEqual([]);
  });

  test('is nothing wrong in any example of a step or sink, nor in what follows it', async () => {
    const wrong: string[] = [];
    const configured = [
      ...Object.values(await loadSteps()).flatMap(({ name, examples }) =>
        examples.map((each) => ({ steps: [{ [name]: each }, { filter: "email != ''" }] })),
      ),
      ...sinkDefinitions.flatMap(({ name, examples }) => examples.map((each) => ({ to: [{ [name]: each }] }))),
    ];
    for (const given of some(configured)) {
      const sample = { name: 'p', from: 'leads', to: [{ ndjson: { path: 'out/other.ndjson' } }], ...given };
      if ((await problemsOf(sample)).length > 0) continue;
      for (const [path, value] of scalarsIn(sample).filter(([[key]]) => key === 'steps' || key === 'to')) {
        for (const text of textsFor(value))
          wrong.push(...(await problemsOf(withIn(sample, path, text))).map((said) => `${path.join('.')} = ${text}: ${said}`));
      }
    }
    expect(wrong).toEqual([]);
  });
});

test('may be any of the columns that other options of a table name', async () => {
  const naming = {
    partition_by: ['lead_status', 'zipcode'],
    sort_by: ['timestamp desc'],
    key: ['lead_id', 'email'],
    mode: 'append',
  };
  const columns = ['lead_status', 'zipcode', 'timestamp', 'lead_id', 'email'];
  const table = { path: 'out/t', columns, ...naming };
  const wrong: string[] = [];
  for (const [path] of scalarsIn({ ...table, columns }).filter(([[key]]) => key !== 'path' && key !== 'mode')) {
    const parquet = withIn(table, path, '${UNSET}');
    wrong.push(...(await problemsOf({ name: 'p', from: 'leads', to: [{ parquet }] })).map((said) => `${path.join('.')}: ${said}`));
  }
  expect(wrong).toEqual([]);
  // Two columns cannot be the one that is not known.
  const short = { ...table, columns: ['${UNSET}', 'timestamp', 'lead_id', 'email'] };
  expect(await problemsOf({ name: 'p', from: 'leads', to: [{ parquet: short }] })).toEqual(['zipcode is not among columns']);
});

test('is one column at most', async () => {
  const refusals = async (options: object) => problemsOf({ name: 'p', from: 'leads', to: [{ parquet: { path: 'out/t', ...options } }] });
  expect(await refusals({ columns: ['${A}'], sort_by: ['lead_id', 'email', 'zipcode'] })).toEqual([
    'email is not among columns',
    'zipcode is not among columns',
  ]);
  expect(await refusals({ columns: ['${A}', '${B}'], partition_by: ['email'], sort_by: ['lead_id desc'] })).toEqual([]);
  expect(await refusals({ columns: ['${A}'], mode: 'append', sort_by: ['timestamp'] })).toEqual([
    expect.stringContaining('append needs the key lead_id'),
  ]);
  expect(await refusals({ columns: ['${A}', 'lead_id'], mode: 'append', sort_by: ['timestamp'] })).toEqual([]);
});

test('may stand in several options of one sink, which go together in some way', async () => {
  const right = [
    { engine: 'arrow', compression: 'snappy', threads: '1', sort_by: ['timestamp desc'] },
    { mode: 'append', key: ['lead_id'], columns: ['lead_id', 'zipcode'], partition_by: ['zipcode'] },
    { mode: 'replace_partitions', partition_by: ['lead_status'], sort_by: { columns: ['email'], scope: 'table', memory: '64MB' } },
  ];
  const wrong: string[] = [];
  for (const options of right) {
    const places = scalarsIn(options).map(([path]) => path);
    for (const [index, first] of places.entries())
      for (const second of places.slice(index + 1)) {
        const parquet = withIn(withIn({ path: 'out/t', ...options }, first, '${A}'), second, '${B}');
        const said = await problemsOf({ name: 'p', from: 'leads', to: [{ parquet }] });
        wrong.push(...said.map((each) => `${first.join('.')}, ${second.join('.')}: ${each}`));
      }
    const all = places.reduce<unknown>((given, path, index) => withIn(given, path, `\${V${index}}`), { path: 'out/t', ...options });
    wrong.push(...(await problemsOf({ name: 'p', from: 'leads', to: [{ parquet: all }] })).map((each) => `all: ${each}`));
  }
  expect(wrong).toEqual([]);
});

test('does not hide that what stands beside it takes none', async () => {
  const parquet = { path: 'out/t', engine: 'parquetjs-lite', threads: '${UNSET}', compression: 'zstd', sort_by: ['nope'] };
  expect(await problemsOf({ name: 'p', from: 'leads', to: [{ parquet }] })).toEqual([
    'the engine parquetjs-lite has no zstd; it has snappy, gzip, none',
    'the engine parquetjs-lite cannot record a sort order',
  ]);
});

test('takes the place of no list and no map', async () => {
  expect(await problemsOf({ ...whole, to: '${UNSET}' })).toEqual(['to: expected a list']);
  expect(await problemsOf({ ...whole, steps: ['${UNSET}', { limit: '100' }] })).toEqual(['steps[0]: expected a map']);
  expect(await problemsOf({ ...whole, service: { ...service, retry: '${UNSET}' } })).toEqual(['retry: expected a map']);
});

test('is told with all else that is wrong where it has to be set', async () => {
  const file = { ...whole, service: { ...service, limit: '${UNSET}' }, on_new_field: 'restart', schema: 'freeze' };
  const { issues } = await checkDocuments(stringify(file), 'p.yaml', {
    env: { KEY: 'k'.repeat(9), HOOK: 'http://h.example' },
    cwd: '/srv',
  });
  expect(issues.map(({ message }) => message)).toEqual([
    'the environment variable UNSET is not set',
    expect.stringContaining('schema: freeze refuses every new field'),
  ]);
});

/** What is wrong with a file that is checked without an environment. */
async function problemsOf(file: unknown): Promise<readonly string[]> {
  const { issues } = await checkDocuments(stringify(file), 'p.yaml', { env: {}, cwd: '/srv' }, { lenient: true });
  return issues.map(({ message }) => message);
}

/** An unset reference in place of a value, and as a part of it. */
function textsFor(value: string): readonly string[] {
  return ['${UNSET}', `\${UNSET}${value}`];
}

function scalarsIn(value: unknown, path: Path = []): readonly (readonly [Path, string])[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => scalarsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]));
  return String(value).startsWith('${') ? [] : [[path, String(value)]];
}

function withIn(value: unknown, [key, ...rest]: Path, to: unknown): unknown {
  if (key === undefined) return to;
  if (Array.isArray(value)) return value.map((each: unknown, index) => (index === key ? withIn(each, rest, to) : each));
  const inner: unknown = Reflect.get(Object(value), key);
  return { ...Object(value), [key]: withIn(inner, rest, to) };
}
