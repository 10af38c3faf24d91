import { EMPTY, from } from 'rxjs';
import type { Row } from '../../../src/core/index.js';
import type { Step } from '../../../src/flow/index.js';
import { aggregate, cast, dedupe, join, mask, rename, select, sort } from '../../../src/steps/index.js';
import { leads, otherSide, through } from './support.js';

const others = () => from(otherSide<Row>([{ id: '4', title: 'Auto' }]));
const joined = (options: object): Step =>
  join<Row, Row, string, string>(others(), { as: 'b', on: { bridge_id: 'id' }, select: ['title'], ...options });

/** Steps in code, each with a field that no row has, and what the failure says behind the name of the step. */
const wrong: readonly (readonly [string, Step, string])[] = [
  ['select', select<Row, string>(['lead_idd']), 'no row of page 2 has a field lead_idd'],
  ['mask', mask<Row>({ sin_numbr: 'drop' }), 'no row of page 2 has a field sin_numbr'],
  ['dedupe', dedupe<Row>(['lead_id', 'lead_idd']), 'no row of page 2 has a field lead_idd'],
  ['sort', sort<Row>([{ field: 'agee' }]), 'no row of page 2 has a field agee'],
  ['aggregate', aggregate<Row, ['agee'], {}>(['agee'], {}), 'no row of page 2 has a field agee'],
  ['join', joined({ on: { bridge_idd: 'id' } }), 'no row of page 2 has a field bridge_idd'],
  ['join, the other side', joined({ on: { bridge_id: 'idd' } }), 'no row of page 1 has a field idd'],
  ['join, the other side', joined({ select: ['titel'] }), 'no row of page 1 has a field titel'],
];

test.each(wrong)('%s refuses a field that no row of a page has', async (name, step, message) => {
  const lists = [[], leads];
  await expect(through(step, otherSide(...lists))).rejects.toMatchObject({ code: 'E_STEP_FIELD', message: `${name}: ${message}` });
});

test('a field that one of the rows has is there', async () => {
  const out = await through(mask<Row>({ b: 'redact' }), otherSide<Row>([{ a: '1' }, { a: '2', b: '3' }]));
  expect(out[0]?.rows).toEqual([
    { a: '1', b: null },
    { a: '2', b: '[redacted]' },
  ]);
});

const options = { on: { a: 'b' }, as: 'b', select: ['c'] };

/** Calls with what is undefined by mistake, which would match nothing, hide nothing, or leave a name or type as it was, in silence. */
const calls: readonly (readonly [step: (...given: never) => unknown, given: readonly unknown[], message: string])[] = [
  [join, [EMPTY, { ...options, on: { a: 'b', c: undefined } }], "join: 'c' is missing"],
  [join, [EMPTY, { ...options, pick: { max: undefined } }], "join: 'max' is missing"],
  [join, [EMPTY, { ...options, select: [undefined] }], 'join: select[0]: Invalid input'],
  [cast, [{ a: undefined }], "cast: 'a' is missing"],
  [mask, [{ a: undefined }], "mask: 'a' is missing"],
  [rename, [{ a: undefined }], "rename: 'a' is missing"],
];

test.each(calls)('%p refuses what is undefined by mistake: %j', (step, given, message) => {
  expect(() => Reflect.apply(step, undefined, given)).toThrow(
    expect.objectContaining({ code: 'E_STEP_CONFIG', message: expect.stringContaining(message) }),
  );
});
