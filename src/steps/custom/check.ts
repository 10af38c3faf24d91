import { declaredTypes } from '../../core/index.js';
import { check, object, oneOf, repeatsIn, standsTwice, texts, type Check, type Checks } from '../../options/index.js';

const type = oneOf(declaredTypes);
const detailed = object({ type, sensitivity: oneOf(['plain', 'personal', 'secret']) }, ['type']);
const map = check("a map of names to types, like { euro: 'decimal' }", isPlain);
const names = texts();

/** The columns that a step adds. */
const added: Check = {
  wants: map.wants,
  faults: (value, place) => {
    const wrong = map.faults(value, place);
    if (wrong.length > 0 || !isRecord(value)) return wrong;
    return Object.entries(value).flatMap(([name, one]) => (isRecord(one) ? detailed : type).faults(one, `${place}.${name}`));
  },
};

const distinctNames: Check = {
  wants: names.wants,
  faults: (value, place) => {
    const wrong = names.faults(value, place);
    if (wrong.length > 0 || !Array.isArray(value)) return wrong;
    return repeatsIn(value).map((index) => ({ place: `${place}[${index}]`, message: standsTwice(String(value[index])), value }));
  },
};

/** The columns of a declaration, as they are. */
export const columnChecks: Checks = { needs: distinctNames, adds: added, removes: distinctNames };

/** What only the declaration of a step has. */
export const stepChecks: Checks = {
  needs: orFunction(distinctNames),
  adds: orFunction(added),
  removes: orFunction(distinctNames),
  rows: oneOf(['same', 'fewer', 'any']),
};

/** What cannot be at once. */
export function contradiction({ adds, removes }: { readonly adds?: unknown; readonly removes?: unknown }): string | undefined {
  if (!isRecord(adds) || !Array.isArray(removes)) return undefined;
  const both = Object.keys(adds).find((name) => removes.includes(name));
  return both === undefined ? undefined : `'${both}' stands under adds and under removes; a step does one of them`;
}

/** What it gives is checked when there are options. */
function orFunction(value: Check): Check {
  return { wants: value.wants, faults: (given, place) => (typeof given === 'function' ? [] : value.faults(given, place)) };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Whether something is an object that has its own keys alone: a `Map` and a promise have none to show. */
function isPlain(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || (isRecord(prototype) && Object.getPrototypeOf(prototype) === null);
}
