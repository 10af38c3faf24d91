import type { Collection } from '../collections/index.js';
import { CapSearch } from './cap.js';
import { measureConcurrency } from './concurrency.js';
import { checks, type Check, type Diagnosis } from './diagnosis.js';
import { Findings } from './findings.js';
import { findFirstPage } from './first-page.js';
import { findHole } from './hole.js';
import { findEnd, findOrder, findSingle } from './list-behaviour.js';
import { findSubjects, type Subject } from './lists.js';
import { NumberedList, type MeasuredList } from './measured-list.js';
import { OwnExamination } from './own.js';
import { reach, type CredentialForm } from './reach.js';
import type { Requester } from './requester.js';
import type { ServiceBlock } from './service-block.js';
import { measureLatency, type PageSize } from './speed.js';

/** The checks of a service that do not depend on its collections. */
const serviceChecks: readonly Check[] = ['reachable', 'credentials', 'wrong_key', 'collections', 'concurrency'];

/** A list known well enough to be timed. */
interface Timed extends PageSize {
  readonly list: MeasuredList;
}

/** A timed list with page numbers. */
interface Known extends Timed {
  readonly list: NumberedList;
}

/** The forms of credentials to try, the configured one first. */
type Forms = readonly [CredentialForm, ...CredentialForm[]];

/** Examines a service, one check after another. */
export class Examination {
  readonly findings = new Findings();
  measured: string | undefined;
  latency: Diagnosis['latency'] = [];
  concurrency: Diagnosis['concurrency'] = [];
  wanted: Omit<ServiceBlock, 'given'> | undefined;

  constructor(
    private readonly asking: Requester,
    private readonly ratePerSecond: number,
  ) {}

  /** Runs all checks; those without a result become `unknown`, with the reason. */
  async carryOut(collections: readonly [Collection, ...Collection[]], forms: Forms): Promise<void> {
    const why = await this.#examine(collections, forms);
    const isOwn = collections.every(({ served }) => served !== undefined);
    this.findings.unknownRest(isOwn ? serviceChecks : checks, why ?? this.asking.exhausted);
  }

  /** @returns Why some checks have no result, if so. */
  async #examine(collections: readonly [Collection, ...Collection[]], forms: Forms): Promise<string | undefined> {
    const { asking, findings } = this;
    const form = await reach(asking, findings, collections, forms);
    if (!form) return 'the service could not be read at all';
    asking.auth = form.auth;
    const { subject, own } = await findSubjects(asking, findings, collections);
    const examined = subject ? await this.#examineService(subject) : 'no paged collection returned a row';
    const known = typeof examined === 'string' ? undefined : examined;
    const examinations = own.map((each) => new OwnExamination(asking, findings, each));
    const wanted = await this.#examineOwn(examinations, known);
    const timed = known ?? examinations.map(({ measured }) => measured).find((measured) => measured?.list instanceof NumberedList);
    await this.#time(examinations, known);
    const concurrency = await this.#measureConcurrency(timed, examinations);
    if (known) await findHole(asking, findings, known.list);
    const isOwn = collections.every(({ served }) => served !== undefined);
    if ((known || isOwn) && examinations.every(({ isKnown: isOwnKnown }) => isOwnKnown))
      this.wanted = { ...wanted, concurrency, otherKey: form.remark };
    if (typeof examined !== 'string') return undefined;
    return isOwn ? 'it is not known how the list is paged' : examined;
  }

  async #examineService(subject: Subject): Promise<Known | string> {
    const { asking, findings } = this;
    this.measured = subject.collection.name;
    const pages = await findFirstPage(asking, findings, subject);
    if (!pages) return 'it is not known how the list is paged';
    const list = new NumberedList(asking, subject, pages.firstPage);
    const limit = await new CapSearch(findings, list, pages).limit();
    if (limit === undefined) return 'it is not known how long pages may be';
    await findEnd(findings, list, limit);
    await findOrder(findings, list, limit);
    await findSingle(asking, findings, subject, pages);
    return { list, limit, honoursLimit: pages.honoursLimit, rows: pages.rows };
  }

  /** @returns What the block needs for all of them. */
  async #examineOwn(examinations: readonly OwnExamination[], known: Known | undefined): Promise<Pick<ServiceBlock, 'firstPage' | 'limit'>> {
    let { firstPage, limit } = { firstPage: known?.list.firstPage, limit: known?.limit };
    for (const examination of examinations) {
      await examination.examine(firstPage, limit);
      const { measured } = examination;
      firstPage ??= examination.firstPage;
      // A run detects a page that is shorter than requested, but fails if a limit is refused.
      if (measured?.sendsLimit && (limit === undefined || measured.refusesMore)) limit = Math.min(measured.limit, limit ?? measured.limit);
    }
    return { firstPage, limit };
  }

  async #time(examinations: readonly OwnExamination[], known: Known | undefined): Promise<void> {
    if (known) this.latency = await measureLatency(this.asking, this.findings, known.list, known);
    for (const examination of examinations) {
      const latency = await examination.time();
      if (this.measured !== undefined || !examination.measured) continue;
      this.measured = examination.subject.collection.name;
      this.latency = latency;
    }
  }

  /** @returns The maximum that the service accepts, if it refuses more. */
  async #measureConcurrency(timed: Timed | undefined, examinations: readonly OwnExamination[]): Promise<number | undefined> {
    const { asking, findings, ratePerSecond } = this;
    if (timed?.list instanceof NumberedList) {
      const { list, limit } = timed;
      const { measured, bearable } = await measureConcurrency(asking, findings, list, { firstPage: list.firstPage, limit, ratePerSecond });
      this.concurrency = measured;
      return bearable;
    }
    const names = examinations.filter(({ isKnown }) => isKnown).map(({ subject }) => subject.collection.name);
    if (names.length > 0) findings.add('concurrency', 'ok', `${names.join(', ')}: one request after another, regardless of concurrency`);
    return undefined;
  }
}
