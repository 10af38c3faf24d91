import type { z } from 'zod';

/** Places of a list, from 0, whose item stands in it before. */
export function repeatsIn(items: readonly string[]): readonly number[] {
  return items.flatMap((item, index) => (items.indexOf(item) < index ? [index] : []));
}

/** Says that a name stands in a list for the second time. */
export function standsTwice(name: string): string {
  return `'${name}' is listed twice; list it once`;
}

/**
 * The same list, in which nothing may stand twice.
 *
 * @param nameOf What tells its items apart. Default: their text.
 *
 * @example
 * distinct(z.array(z.string())).safeParse(['id', 'id']); // [1] 'id' is listed twice; list it once
 */
export function distinct<T extends z.ZodType>(list: z.ZodArray<T>, nameOf: (item: z.output<T>) => string = String): z.ZodArray<T> {
  return list
    .superRefine((items, context) => {
      const names = items.map(nameOf);
      for (const index of repeatsIn(names)) context.addIssue({ code: 'custom', path: [index], message: standsTwice(names[index] ?? '') });
    })
    .meta({ uniqueItems: true });
}
