/** Of what is given by field, no value is `undefined`: it would be as good as left out, and nobody would see. */
export type WithoutUndefined<M> = string extends keyof M ? unknown : { readonly [K in keyof M]: Exclude<M[K], undefined> };
