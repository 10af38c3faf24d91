/** The pipeline that ships, over many leads, against DuckDB. */
import '../system/pipeline/leads-enriched.test.js';
