const discreet = new WeakMap<object, string>();

/** Sets the message of a failure for places that must not distinguish records, such as events. */
export function saidDiscreetly<E extends Error>(failure: E, message: string): E {
  discreet.set(failure, message);
  return failure;
}

/** Returns the message of a failure for places that must not distinguish records. */
export function discreetMessage(failure: Error): string {
  return discreet.get(failure) ?? failure.message;
}
