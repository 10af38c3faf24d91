/** What unit and system draw a sample of. */
import '../unit/json/read.test.js';
import '../unit/source/scan.test.js';
import '../unit/sinks/projection.test.js';
import '../unit/sinks/text-formats.test.js';
import '../unit/pipeline/expect-tables.test.js';
import '../unit/steps/join.test.js';
import '../unit/steps/sort.test.js';
import '../unit/flow/paged-source.test.js';
import '../unit/flow/key-set.test.js';
import '../unit/core/instant-text.test.js';
import '../system/pipeline/defaults.test.js';
import '../unit/collections/fields.test.js';
import '../unit/core/types.test.js';
import '../unit/flow/key-map.test.js';
import '../unit/http/link-header.test.js';
import '../unit/parquet/row-values.test.js';
import '../unit/pipeline/unset-references.test.js';
