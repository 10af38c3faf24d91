import { of, type Observable } from 'rxjs';
import { amountOf, SourceError } from '../core/index.js';
import { task, type Ask } from '../flow/index.js';
import type { PagedList } from './paging.js';

/** Counts consecutive pages without new rows; after some of them it checks whether the list has an end at all. */
export class StalePages {
  #pages = 0;

  /**
   * @param collection Its name, for the message.
   * @param patience Number of such pages before the check; doubled for the next one.
   */
  constructor(
    private readonly list: PagedList,
    private readonly collection: string,
    private patience: number,
  ) {}

  /** Records the next page. */
  take(isStale: boolean): void {
    this.#pages = isStale ? this.#pages + 1 : 0;
  }

  /**
   * Checks pages further on if there were too many.
   *
   * @throws {SourceError} `E_SOURCE_ENDLESS` if the list has rows however far ahead it is checked.
   */
  lookBehind(number: number): Observable<void> {
    if (this.#pages <= this.patience) return of(undefined);
    return task(async (ask) => {
      const { firstPage } = this.list;
      const at = (times: number) => firstPage + times * (number - firstPage);
      if ((await this.#hasRows(ask, at(2))) && (await this.#hasRows(ask, at(4)))) {
        const what = `${amountOf(this.#pages, 'page')} up to page ${number - 1} ${this.#pages === 1 ? 'has' : 'have'} no new rows`;
        const message = `${this.collection}: ${what}, and pages ${at(2)} and ${at(4)} have rows, too`;
        throw new SourceError('E_SOURCE_ENDLESS', 'permanent', message);
      }
      this.patience *= 2;
    });
  }

  async #hasRows(ask: Ask, number: number): Promise<boolean> {
    return (await ask(this.list.probe(number))).batch.length > 0;
  }
}
