import { stringify } from 'yaml';
import type { z } from 'zod';
import { catalogue, environment, exitCodes, warningCatalogue, zod } from '../../core/index.js';
import { sinks, type SinkDefinition } from '../../sinks/index.js';
import { expressionFunctions, type StepDefinition, type StepDefinitions } from '../../steps/index.js';
import { usual } from '../../options/index.js';
import { collectionsShape } from '../../source/index.js';
import { defaultsShape, pipelineShape } from './spec.js';

/** Part of a JSON Schema, as far as the reference reads it. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string | undefined;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
}

type Definition = Pick<StepDefinition | SinkDefinition, 'name' | 'summary' | 'config' | 'examples'>;

const sinkDefinitions = Object.values<Definition>(sinks);

/** The JSON Schema of pipeline files with these steps. */
export function schemaWith(steps: StepDefinitions): object {
  const shape = schemaOf(pipelineShape());
  const defaults = schemaOf(defaultsShape());
  const listOf = (known: readonly Definition[]) => ({ type: 'array', items: { anyOf: known.map(entrySchema) } });
  const collections = { ...schemaOf(collectionsShape()), description: shape.properties?.collections?.description };
  const pipeline = {
    ...shape,
    properties: {
      ...shape.properties,
      collections,
      steps: { ...listOf(Object.values<Definition>(steps)), description: shape.properties?.steps?.description },
      to: { ...listOf(sinkDefinitions), minItems: 1, description: shape.properties?.to?.description },
    },
  };
  const inherited = Object.keys(defaults.properties ?? {});
  const keeping = Object.fromEntries(
    Object.entries(pipeline.properties).map(([key, schema]) => [key, inherited.includes(key) ? orNull(schema) : schema]),
  );
  // A document of a file is a pipeline, or the defaults of those behind it.
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'leadstream pipeline',
    type: 'object',
    if: { required: ['defaults'] },
    then: {
      type: 'object',
      properties: {
        defaults: {
          ...defaults,
          properties: { ...defaults.properties, collections },
          description: 'What all pipelines of the file inherit.',
        },
      },
      additionalProperties: false,
    },
    else: { ...pipeline, properties: keeping },
  };
}

/** The same, where null keeps out what the defaults of the file have: for the value as a whole, and for its keys. */
function orNull(schema: Schema): object {
  const { description, ...given } = withKeysOrNull(schema);
  return { ...(description === undefined ? {} : { description }), anyOf: [given, { type: 'null' }] };
}

function withKeysOrNull({ properties, additionalProperties, ...rest }: Schema): Omit<Schema, 'properties' | 'additionalProperties'> {
  const keys = Object.entries(properties ?? {}).map(([key, inner]) => [key, orNull(inner)]);
  return {
    ...rest,
    ...(properties && { properties: Object.fromEntries(keys) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: typeof additionalProperties === 'object' ? orNull(additionalProperties) : additionalProperties,
    }),
  };
}

function entrySchema({ name, summary, config }: Definition): object {
  return {
    type: 'object',
    description: summary,
    properties: { [name]: schemaOf(config()) },
    required: [name],
    additionalProperties: false,
  };
}

function schemaOf(config: z.ZodType): Schema {
  const schema = zod().toJSONSchema(config, {
    target: 'draft-7',
    io: 'input',
    // Files may write the word null without quotes where a name is meant.
    override: ({ jsonSchema }) => {
      if (jsonSchema.enum?.includes('null') && !jsonSchema.enum.includes(null)) {
        jsonSchema.enum = [...jsonSchema.enum, null];
        delete jsonSchema.type;
      }
    },
  });
  delete schema.$schema;
  return withDefaults(schema) as Schema;
}

/** The same, whose descriptions say what holds where nothing is given. */
function withDefaults(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withDefaults);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inside: Record<string, unknown> = Object.fromEntries(Object.entries(schema).map(([key, inner]) => [key, withDefaults(inner)]));
  const { [usual]: applied, default: given = applied, description, ...rest } = inside;
  if (given === undefined) return inside;
  const isSaid = typeof description === 'string' && !isEmptyMap(given);
  return { ...rest, description: isSaid ? `${description} Default ${writtenDefault(given)}.` : description, default: given };
}

/** That of a map which holds defaults of its own. */
function isEmptyMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

function writtenDefault(value: unknown): string {
  if (Array.isArray(value) && value.length === 0) return 'none';
  return typeof value === 'string' && /^[\w.%]+$/.test(value) ? value : JSON.stringify(value);
}

/** The reference of pipeline files with these steps. */
export function referenceWith(steps: StepDefinitions): string {
  const shape = schemaOf(pipelineShape());
  return [
    '# Pipeline files',
    '_Generated by `npm run reference` from the definitions; a test compares. Editors check files with [`pipeline.schema.json`](pipeline.schema.json)._',
    'Scalars are read as the text that the file shows: `0123` keeps its zero, and `null` is a name. `${NAME}`, `${NAME:-default}`, `${NAME:?message}` and `${file:PATH}` stand for values from the environment and from files; `$${` is a literal `${`. Inside `{ … }` and `[ … ]` they need quotes, as do texts with a comma. What `service.auth` names is a credential and is accepted nowhere else.',
    '## Top level',
    keyTable(shape),
    '## service',
    keyTable(shape.properties?.service ?? {}),
    '## collections',
    'Collections of your own, by name; `from` and `with` of a join take them. Names are made of a-z, 0-9 and `_`, and none is that of a collection that every service has.',
    ...collectionTables(),
    '## rejects',
    keyTable(shape.properties?.rejects ?? {}),
    '## expect',
    'All violations are reported, and nothing is published (exit 65). Columns are those that leave the last step, by their snake_case names.',
    keyTable(shape.properties?.expect ?? {}),
    '## Several pipelines in one file',
    'Documents separated by `---` are pipelines of their own. `leadstream run` checks all of them and runs one after another; their names and outputs must differ.',
    'The first document may be `defaults:` alone, which all pipelines behind it inherit key by key: what a pipeline has itself wins, lists and an account under `auth` as a whole.',
    keyTable(schemaOf(defaultsShape())),
    '## Steps',
    ...Object.values<Definition>(steps).flatMap((definition) => section(definition, 'steps')),
    '## Functions',
    'Expressions are [CEL](https://cel.dev) over the snake_case fields of the row. Values are text unless `cast` ran. `matches` is refused, and so is a comprehension (`all`, `exists`, `exists_one`, `filter`, `map`) within another; a list has at most 100 values, an expression 5,000 parts. A comparison by size (`<`, `<=`, `>`, `>=`) or a calculation with null gives null, and `&&`, `||` and `!` give null where the rest decides nothing; `==` asks whether both are null, and a null condition of `?:` is an error of the row. `int()`, `double()` and the other conversions of CEL refuse an empty text; `num()` gives null for it. Functions in addition to those of CEL; null gives null:',
    functionTable(),
    '## Sinks',
    ...sinkDefinitions.flatMap((definition) => section(definition, 'to')),
    '## Exit codes',
    table(
      ['exit', 'what happened', 'what to do'],
      Object.entries(exitCodes).map(([exit, { meaning, action }]) => [exit, meaning, action]),
    ),
    '## Errors',
    'Codes are stable. `retry` says whether the same command can succeed later without a change.',
    table(
      ['code', 'exit', 'retry', 'what to do'],
      Object.entries(catalogue).map(([code, { exit, retry, help }]) => [`\`${code}\``, String(exit), retry ? 'yes' : 'no', help]),
    ),
    '## Warnings',
    'The run goes on; with `service.strict` a warning is a failure (exit 65).',
    table(
      ['code', 'what to do'],
      Object.entries(warningCatalogue).map(([code, { help }]) => [`\`${code}\``, help]),
    ),
    '## Environment',
    'Credentials come from the environment or from files, never from flags.',
    table(
      ['variable', 'meaning'],
      Object.entries(environment).map(([name, { summary, secret }]) => [`\`${name}\``, secret ? `${summary} Never shown.` : summary]),
    ),
  ].join('\n\n');
}

function section({ name, summary, config, examples }: Definition, list: 'steps' | 'to'): readonly string[] {
  const schema = schemaOf(config());
  const example = stringify(
    { [list]: examples.map((value) => ({ [name]: value })) },
    { flowCollectionPadding: true, collectionStyle: 'any', lineWidth: 0 },
  );
  return [`### ${name}`, summary, schema.properties ? keyTable(schema) : (schema.description ?? ''), `\`\`\`yaml\n${example}\`\`\``];
}

/** What a collection of one's own is declared by. */
function collectionTables(): readonly string[] {
  const { additionalProperties: one } = schemaOf(collectionsShape());
  if (typeof one !== 'object') return [];
  return [keyTable(one), 'Its `paging`:', keyTable(one.properties?.paging ?? {})];
}

function keyTable({ properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([key, schema]) => [
    `\`${key}\`${required.includes(key) ? ' (required)' : ''}`,
    typeOf(schema),
    schema.description ?? '',
  ]);
  return table(['key', 'type', 'meaning'], rows);
}

function functionTable(): string {
  return table(
    ['function', 'meaning', 'example'],
    Object.entries(expressionFunctions).map(([name, { summary, example }]) => [`\`${name}\``, summary, `\`${example}\``]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

/** A value as it is written in a file. */
function literal(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function typeOf({ type, enum: choices, const: only, anyOf, items, additionalProperties }: Schema): string {
  if (only !== undefined) return literal(only);
  if (choices)
    return choices
      .filter((choice) => choice !== null)
      .map(literal)
      .join(', ');
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  if (items) return `list of ${typeOf(items)}`;
  if (type === 'object') return typeof additionalProperties === 'object' ? `map of ${typeOf(additionalProperties)}` : 'map';
  if (type === 'string') return 'text';
  if (type === 'integer') return 'whole number';
  if (type === 'boolean') return '`true`, `false`';
  return typeof type === 'string' ? type : 'any';
}
