/** Pipelines against every oddity of a service. */
import '../system/pipeline/hostile.test.js';
