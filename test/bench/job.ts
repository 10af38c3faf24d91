import type { CollectionName } from '../../src/index.js';

/** What a measured process is told to do. Everything that takes time to prepare is prepared before. */
export interface Job {
  readonly work: 'floor' | 'pipeline' | 'program' | 'parquetjs' | 'fast-csv' | 'duckdb';
  readonly baseUrl: string;
  readonly limit: number;
  readonly concurrency: number;
  /** URL of the built library. */
  readonly library: string;
  /** Folder of this run alone; outputs are in it. */
  readonly folder: string;
  /** Rows of each collection; curl has to know how many pages there are. */
  readonly counts: Readonly<Partial<Record<CollectionName, number>>>;
  /** The statement that DuckDB runs on the downloaded pages. */
  readonly sql: string;
}

/** What a measured process says of itself. */
export interface Usage {
  /** User and system time of the process with all its threads and finished children, in seconds. */
  readonly cpuSeconds: number;
  /** Most resident memory of the process, in bytes. */
  readonly peakRss: number;
  /** Worker threads that were started. */
  readonly workers: number;
}

/** What a measured process did: the work without the start of the process. */
export interface Outcome extends Usage {
  readonly seconds: number;
  readonly rows: number;
}

/** Any key does. */
export const key = 'bench-key-0123456789';

/** Does the job. @returns Rows that went through. */
export type Work = (job: Job) => Promise<number>;
