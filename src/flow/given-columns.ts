import { declaredTypes, sensitivities } from '../core/index.js';
import { check, filledText, flag, listOf, object, oneOf, repeatsIn, standsTwice, text, type Check } from '../options/index.js';

const column = object(
  {
    ...{ name: filledText, original: filledText, type: oneOf(declaredTypes), cast: flag, sensitivity: oneOf(sensitivities) },
    ...{ source: text, repeated: flag, undeclared: flag },
  },
  ['name', 'original', 'type', 'cast', 'sensitivity'],
  'open',
);
const some = check('a list that is not empty', (value) => Array.isArray(value) && value.length > 0);
const list = listOf(column);

/** Checks for the columns of rows given by a program: a list that is not empty, without repeated names. */
export const givenColumns: Check = {
  wants: some.wants,
  faults: (value, place) => {
    const wrong = [...some.faults(value, place), ...list.faults(value, place)];
    if (wrong.length > 0) return wrong.slice(0, 1);
    const names = (value as readonly { readonly name: string }[]).map(({ name }) => name);
    return repeatsIn(names).map((index) => ({ place: `${place}[${index}]`, message: standsTwice(names[index] ?? ''), value }));
  },
};
