import { amountOf } from '../core/index.js';
import { CapSearch } from './cap.js';
import type { Check, Diagnosis } from './diagnosis.js';
import { cameOf, type Findings } from './findings.js';
import { findEnd, findOrder } from './list-behaviour.js';
import type { OwnSubject } from './lists.js';
import { NumberedList } from './measured-list.js';
import { findSequentialEnd } from './own-end.js';
import { findOwnPages, type OwnPages } from './own-pages.js';
import { declareEnd, listAt } from './own-words.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';
import { measureLatency } from './speed.js';

/** The checks of a custom collection, in order. */
const pagedChecks: readonly Check[] = ['first_page', 'limit', 'end_of_list', 'order', 'latency'];
const wholeChecks: readonly Check[] = ['first_page'];

/** What is known about the pages of a custom collection after they were measured. */
export interface OwnMeasured extends OwnPages {
  /** Maximum number of rows per page, and whether requests send it. */
  readonly limit: number;
  readonly sendsLimit: boolean;
  /** Whether the service refuses more than that. */
  readonly refusesMore: boolean;
}

/** Examines how a custom collection is served, one check after another. */
export class OwnExamination {
  readonly #findings: Findings;
  measured: OwnMeasured | undefined;

  constructor(
    private readonly asking: Requester,
    findings: Findings,
    readonly subject: OwnSubject,
  ) {
    this.#findings = findings.about(subject.collection.name);
  }

  /** Whether everything that a run needs is known. */
  get isKnown(): boolean {
    const { served, reply } = this.subject;
    return this.measured !== undefined || (served.paging.scheme === 'none' && reply.kind === 'rows');
  }

  /** The first page, for a list with page numbers that does not declare it. */
  get firstPage(): 0 | 1 | undefined {
    const { paging } = this.subject.served;
    const list = this.measured?.list;
    return paging.scheme === 'page' && paging.first === undefined && list instanceof NumberedList ? list.firstPage : undefined;
  }

  /** Determines what a run needs. @param firstPage That of the service, if known. @param most Number of rows per page of the service. */
  async examine(firstPage: 0 | 1 | undefined, most: number | undefined): Promise<void> {
    const { served, reply } = this.subject;
    if (served.paging.scheme === 'none') return this.#examineWhole(reply);
    const pages = await findOwnPages(this.asking, this.#findings, this.subject, firstPage);
    if (pages) await this.#examinePages(pages, served.paging.limit !== 'none', most);
  }

  #examineWhole(reply: Reply): void {
    const findings = this.#findings;
    if (reply.kind === 'failed' || reply.kind === 'unasked') return findings.unknown('first_page', cameOf(reply), [reply]);
    if (reply.kind !== 'rows') return findings.add('first_page', 'problem', `${cameOf(reply)}${declareEnd(reply)}`, [reply]);
    findings.add('first_page', 'ok', `${listAt(this.subject.served)}; one response has all ${reply.evidence.answer}`, [reply]);
  }

  async #examinePages(pages: OwnPages, sendsLimit: boolean, most: number | undefined): Promise<void> {
    const { list, rows } = pages;
    const search = new CapSearch(this.#findings, list, pages, most);
    if (!sendsLimit) this.#findings.add('limit', 'ok', `no page size is sent; a page has ${amountOf(rows, 'row')}`);
    const limit = sendsLimit ? await search.limit() : rows;
    if (limit === undefined) return;
    if (list instanceof NumberedList) await findEnd(this.#findings, list, limit);
    else await findSequentialEnd(this.#findings, list, limit);
    await findOrder(this.#findings, list, limit);
    this.measured = { ...pages, limit, sendsLimit, refusesMore: search.isRefused };
  }

  /** Measures latency, and reports the remaining checks as unknown. */
  async time(): Promise<Diagnosis['latency']> {
    const { measured, asking } = this;
    const latency = measured ? await measureLatency(asking, this.#findings, measured.list, measured) : [];
    const isWhole = this.subject.served.paging.scheme === 'none';
    const why = measured || asking.left <= 0 ? asking.exhausted : 'it is not known how the list is paged';
    this.#findings.unknownRest(isWhole ? wholeChecks : pagedChecks, why);
    return latency;
  }
}
