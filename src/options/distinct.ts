import type { z } from 'zod';

/** Returns the indexes of items that also occur earlier in the list. */
export function repeatsIn(items: readonly string[]): readonly number[] {
  return items.flatMap((item, index) => (items.indexOf(item) < index ? [index] : []));
}

/** Describes a name that is listed twice. */
export function standsTwice(name: string): string {
  return `'${name}' is listed twice; list it once`;
}

/**
 * Makes a list schema refuse repeated items.
 *
 * @param nameOf Returns what distinguishes the items. Default: their text.
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
