/** Excludes `undefined` values from a record by field: they would silently act as if the field were left out. */
export type WithoutUndefined<M> = string extends keyof M ? unknown : { readonly [K in keyof M]: Exclude<M[K], undefined> };
