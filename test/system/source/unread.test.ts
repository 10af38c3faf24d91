import { failure, type Responder } from '../../../src/service/answer.js';
import { generate } from '../../../src/service/index.js';
import { leads, runIn, service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const all = leads(60).map((each) => JSON.stringify(each));
const page = (number: number, size: number, rows = all) => rows.slice(Math.max(0, (number - 1) * size), Math.max(0, number * size));
type Show = (number: number, size: number, request: number) => readonly string[] | undefined;

/** Reads a list of leads, twenty per page, whose pages are shown by a function; it refuses what that does not show. */
async function readBy(show: Show, mode: string) {
  let requests = 0;
  const responder: Responder = (facts, next) => {
    if (facts.collection !== 'leads') return next(facts);
    const rows = show(facts.page, facts.limit, (requests += 1));
    return rows ? { kind: 'rows', rows } : failure(400, 'no such page');
  };
  const from = await service(generate({ leads: 0, bridges: 0, links: 0, users: 0, seed: 1 }), { responders: [responder] });
  const text = `from: leads\nconsistency: ${mode}\nto: [{ ndjson: { path: rows.ndjson } }]`;
  const set = { 'service.limit': '20', 'service.concurrency': '1' };
  return runIn(from, text, await temporaryFolder(), { set }).then(
    ({ sinks, consistency, warnings }) => ({
      rows: sinks[0]?.books.written,
      outcome: consistency.outcome,
      drifted: warnings.some(({ code }) => code === 'W_SOURCE_DRIFT'),
    }),
    ({ code }: { code: string }) => ({ code }),
  );
}

describe.each(['off', 'check', 'repair', 'prove'])('with consistency %s,', (mode) => {
  const shortest = { off: { rows: 42 }, check: { rows: 42, drifted: true } }[mode] ?? { code: 'E_GATE_CONSISTENCY' };

  test.each<[string, Show, object]>([
    ['which no other size shows', (number, size) => (size < 20 ? [] : number === 1 ? all.slice(18, 20) : page(number, size)), shortest],
    ['which is only short once', (number, size, request) => page(number, size).slice(request === 1 ? 18 : 0), { rows: 60 }],
  ])('a first page shorter than the second is no sign of a cap: one %s', async (_, show, expected) => {
    expect(await readBy(show, mode)).toMatchObject(expected);
  });

  test.each<[string, Show, object]>([
    ['pages of the cap show nothing', (number, size) => (size < 20 ? [] : page(number, 7)), { code: 'E_GATE_CONSISTENCY' }],
    [
      'pages of the cap lack rows',
      (number, size) => page(number, Math.min(7, size), size < 20 ? all.slice(3) : all),
      { code: 'E_GATE_CONSISTENCY' },
    ],
    ['these are gone', (number, size, request) => page(number, Math.min(7, size), request > 3 ? all.slice(3) : all), { rows: 57 }],
  ])('rows seen before a cap was learned are not lost where %s', async (_, show, expected) => {
    expect(await readBy(show, mode)).toMatchObject(expected);
  });

  test('rows that a probe or a second look shows are read, or refuse the read', async () => {
    // Page 2 shows a row to those who look a second time, and nowhere else.
    const looks = new Map<string, number>();
    const hidden: Show = (number, size) => {
      const look = (looks.get(`${number} ${size}`) ?? 0) + 1;
      looks.set(`${number} ${size}`, look);
      const rows = all.toSpliced(25, 1);
      return number === 2 && size === 20 && look > 1 ? all.slice(20, 40) : page(number, size, rows);
    };
    const result = await readBy(hidden, mode);
    // Under `prove` no page is requested twice.
    const expected = { repair: { code: 'E_GATE_CONSISTENCY' }, check: { rows: 59, drifted: true } }[mode] ?? { rows: 59 };
    expect(result).toMatchObject(expected);
  });
});
