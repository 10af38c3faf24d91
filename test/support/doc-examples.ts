/** Declarations assumed by the examples in comments and pages; test/system/documentation.test.ts puts them before each. */
import type { ServerResponse } from 'node:http';
import type { Observable } from 'rxjs';
import { defineCollection } from 'leadstream';
import type { ConnectOptions, Fault, Lead, Page, Row, Service, SinkWriter } from 'leadstream';
import type { Pipeline } from 'leadstream/pipeline';
import type { Account, DataSource } from 'leadstream/service';

export const orders = defineCollection('orders', {
  path: '/v2/orders',
  key: ['no'],
  paging: { scheme: 'cursor', next: '/paging/next', param: 'cursor' },
  fields: { no: 'text', total: 'decimal' },
});

/** A connection with a custom collection. */
type Shop = Service<typeof orders>;

export declare const service: Shop;
export declare const key: string;
export declare const token: string;
export declare const hmacKey: string;
export declare const text: string;
export declare const baseUrl: string;
export declare const auth: ConnectOptions['auth'];
export declare const signal: AbortSignal;
export declare const response: ServerResponse;
export declare const pipeline: Pipeline;
export declare const pipelines: readonly Pipeline[];
export declare const accounts: readonly Account[];
export declare const source: DataSource;
export declare const page: Page<Lead>;
export declare const error: unknown;
export declare const rejects: Fault[];
export declare const out: SinkWriter;
export declare function store(row: Row): Promise<void>;
export declare function storeAll(rows: readonly Row[]): Promise<void>;
export declare function storePage(page: Page<unknown>): Promise<void>;
export declare function renewKey(): Promise<void>;
export declare function scoresOf(rows: readonly Row[], signal: AbortSignal): Promise<readonly number[]>;
export declare function fetchOrders(page: number): Observable<readonly { readonly no: string }[]>;
export declare function mine<T>(pages$: Observable<Page<T>>): Observable<Page<T>>;
export declare const db: { query(sql: string): Promise<void>; insert(table: string, rows: readonly Row[]): Promise<void> };
