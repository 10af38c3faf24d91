import type { z } from 'zod';
import { isMap, zod } from '../core/index.js';
import { usual, type EntryDefinition } from '../options/index.js';
import { collectionsShape } from '../source/index.js';
import { sinks } from '../sinks/index.js';
import type { StepDefinitions } from '../steps/index.js';
import { inheritedKeys } from './document.js';
import { pipelineShape } from './spec.js';

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string | undefined;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly additionalProperties?: JsonSchema | boolean;
}

export const sinkDefinitions = Object.values<EntryDefinition>(sinks);

export function schemaWith(steps: StepDefinitions): object {
  const shape = jsonSchemaOf(pipelineShape());
  const listOf = (known: readonly EntryDefinition[]) => ({ type: 'array', items: { anyOf: known.map(entrySchema) } });
  const own = jsonSchemaOf(collectionsShape());
  // With several services, names are like eu.leads.
  const patternProperties = Object.fromEntries(Object.entries(own.properties ?? {}).map(([name, added]) => [`\\.${name}$`, added]));
  const collections = { ...own, patternProperties, description: shape.properties?.collections?.description };
  const pipeline = {
    ...shape,
    properties: {
      ...shape.properties,
      collections,
      steps: { ...listOf(Object.values<EntryDefinition>(steps)), description: shape.properties?.steps?.description },
      to: { ...listOf(sinkDefinitions), minItems: 1, description: shape.properties?.to?.description },
    },
  };
  const inherited = Object.entries<JsonSchema>(pipeline.properties).filter(([key]) => inheritedKeys.includes(key));
  // null excludes what the defaults would add.
  const orNull = inherited.map(([key, { description, ...given }]) => {
    return [key, { ...(description !== undefined && { description }), anyOf: [given, { type: 'null' }] }] as const;
  });
  // A document is a pipeline, or the defaults of those after it.
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'leadstream pipeline',
    type: 'object',
    if: { required: ['defaults'] },
    then: {
      type: 'object',
      properties: {
        defaults: {
          ...{ ...pipeline, properties: Object.fromEntries(inherited), required: [] },
          description: 'What all pipelines of the file inherit.',
        },
      },
      additionalProperties: false,
    },
    else: { ...pipeline, properties: { ...pipeline.properties, ...Object.fromEntries(orNull) } },
  };
}

function entrySchema({ name, summary, config }: EntryDefinition): object {
  return {
    type: 'object',
    description: summary,
    properties: { [name]: jsonSchemaOf(config()) },
    required: [name],
    additionalProperties: false,
  };
}

export function jsonSchemaOf(config: z.ZodType): JsonSchema {
  const schema = zod().toJSONSchema(config, {
    target: 'draft-7',
    io: 'input',
    // In files the word null may be written without quotes as a name.
    override: ({ jsonSchema }) => {
      if (jsonSchema.enum?.includes('null') && !jsonSchema.enum.includes(null)) {
        jsonSchema.enum = [...jsonSchema.enum, null];
        delete jsonSchema.type;
      }
    },
  });
  delete schema.$schema;
  return withDefaults(schema) as JsonSchema;
}

function withDefaults(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withDefaults);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inside: Record<string, unknown> = Object.fromEntries(Object.entries(schema).map(([key, inner]) => [key, withDefaults(inner)]));
  const { [usual]: applied, default: given = applied, description, ...rest } = inside;
  if (given === undefined) return inside;
  const isSaid = typeof description === 'string' && !(isMap(given) && Object.keys(given).length === 0);
  return { ...rest, description: isSaid ? `${description} Default ${writtenDefault(given)}.` : description, default: given };
}

function writtenDefault(value: unknown): string {
  if (Array.isArray(value) && value.length === 0) return 'none';
  return typeof value === 'string' && /^[\w.%]+$/.test(value) ? value : JSON.stringify(value);
}
