/** What system takes every second case of. */
import '../system/pipeline/sorted-table.test.js';
import '../system/pipeline/planted.test.js';
import '../system/pipeline/new-field.test.js';
import '../system/pipeline/schema.test.js';
import '../system/pipeline/shrink.test.js';
import '../system/lake/verify.test.js';
import '../system/store/redo-log.test.js';
import '../system/cli/init.test.js';
import '../system/collections/sequential.test.js';
import '../system/pipeline/lookup.test.js';
import '../system/pipeline/aggregate.test.js';
import '../system/pipeline/watching.test.js';
import '../system/cli/explain-row.test.js';
import '../system/pipeline/paths.test.js';
import '../system/http/failures.test.js';
import '../system/source/end.test.js';
import '../system/pipeline/hooks.test.js';
