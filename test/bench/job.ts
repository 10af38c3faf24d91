import type { CollectionName } from '../../src/index.js';

/** The job of a measured process. Everything that takes time to prepare is prepared before. */
export interface Job {
  readonly work: 'floor' | 'pipeline' | 'program' | 'parquetjs' | 'fast-csv' | 'duckdb';
  readonly baseUrl: string;
  readonly limit: number;
  readonly concurrency: number;
  /** URL of the built library. */
  readonly library: string;
  /** Folder of this run only, for its outputs. */
  readonly folder: string;
  /** Number of rows in each collection; curl must know the number of pages. */
  readonly counts: Readonly<Partial<Record<CollectionName, number>>>;
  /** The statement that DuckDB runs on the downloaded pages. */
  readonly sql: string;
}

/** The resource usage that a measured process reports. */
export interface Usage {
  /** User and system time of the process with all its threads and finished children, in seconds. */
  readonly cpuSeconds: number;
  /** Peak resident memory of the process, in bytes. */
  readonly peakRss: number;
  /** Number of worker threads started. */
  readonly workers: number;
}

/** The result of a measured process: its work, without the start of the process. */
export interface Outcome extends Usage {
  readonly seconds: number;
  readonly rows: number;
}

/** Any key works. */
export const key = 'bench-key-0123456789';

/** Does the job. @returns The number of rows processed. */
export type Work = (job: Job) => Promise<number>;
