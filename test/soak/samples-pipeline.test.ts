/** What system takes a sample of: pipelines. */
import '../system/pipeline/sorted-table.test.js';
import '../system/pipeline/planted.test.js';
import '../system/pipeline/new-field.test.js';
import '../system/pipeline/schema.test.js';
import '../system/pipeline/shrink.test.js';
import '../system/pipeline/lookup.test.js';
import '../system/pipeline/aggregate.test.js';
import '../system/pipeline/watching.test.js';
import '../system/pipeline/paths.test.js';
import '../system/pipeline/hooks.test.js';
