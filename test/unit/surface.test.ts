import { expect, test } from '@jest/globals';
import * as leadstream from '../../src/leadstream.js';
import * as pipelines from '../../src/pipelines.js';
import * as service from '../../src/service/index.js';
import * as tables from '../../src/tables.js';
import * as testing from '../../src/testing.js';

/** What is exported is a promise: a value that comes or goes here is a decision. */
const surface: Readonly<Record<string, readonly [module: object, values: string]>> = {
  leadstream: [
    leadstream,
    `ClosedPipeError GateError LeadstreamError SinkError SourceError SpecError StepError aggregate areaCode cast catalogue collectionNames collections
    columnsOf connect connectionFromEnvironment csv dedupe defineCollection defineSink defineStep deliver derive explode filter fromPages isRetryable
    join liftRows limit mapAsync mapRows mask ndjson pagedSource parquet personalMasks rename sample select sort stdout typesOf watch writeTo zipCity zipPrefix
    zipState`,
  ],
  'leadstream/pipeline': [
    pipelines,
    `RateLimiters diagnoseService explainPipeline explainRow extensionsOf failedRunOf lintPipelines loadCollections loadPipeline loadPipelines notifyRefused parsePipeline parsePipelines pipelineReference pipelineSchema
    previewPipeline recoverRuns runPipeline summaryOf testPipelines writesOver`,
  ],
  'leadstream/parquet': [tables, 'publishedManifest readGroups readManifest rollbackTable tableRuns verifyTable'],
  'leadstream/service': [service, 'accountsFromEnv generate isFault openDirectory readAccounts startService'],
  'leadstream/testing': [testing, 'createStallDetector standalone'],
};

test.each(Object.entries(surface))('%s has these values and no others', (_entry, [module, values]) => {
  expect(Object.keys(module).toSorted()).toEqual(values.split(/\s+/).toSorted());
});
