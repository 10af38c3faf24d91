import { declaredColumns } from '../../flow/index.js';
import { oneOf, repeatsIn, standsTwice, texts, type Check, type Checks } from '../../options/index.js';

const names = texts();

const distinctNames: Check = {
  wants: names.wants,
  faults: (value, place) => {
    const wrong = names.faults(value, place);
    if (wrong.length > 0 || !Array.isArray(value)) return wrong;
    return repeatsIn(value).map((index) => ({ place: `${place}[${index}]`, message: standsTwice(String(value[index])), value }));
  },
};

/** Checks the columns of a declaration, with functions already resolved. */
export const columnChecks: Checks = { needs: distinctNames, adds: declaredColumns, removes: distinctNames };

/** Checks the declaration of a step. */
export const stepChecks: Checks = {
  needs: orFunction(distinctNames),
  adds: orFunction(declaredColumns),
  removes: orFunction(distinctNames),
  rows: oneOf(['same', 'fewer', 'any']),
};

/** Describes columns that are both added and removed. */
export function contradiction({ adds, removes }: { readonly adds?: unknown; readonly removes?: unknown }): string | undefined {
  if (!isRecord(adds) || !Array.isArray(removes)) return undefined;
  const both = Object.keys(adds).find((name) => removes.includes(name));
  return both === undefined ? undefined : `'${both}' is listed under both adds and removes; keep one`;
}

/** Accepts a function, too: what it returns is checked once the options are known. */
function orFunction(value: Check): Check {
  return { wants: value.wants, faults: (given, place) => (typeof given === 'function' ? [] : value.faults(given, place)) };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
