/** Explains why an expression has no value for a row. The message names kinds of values, never a value. */
export class ExpressionFault extends Error {}
