/** The nightly export, by more values of every column. */
import '../system/pipelines.test.js';
