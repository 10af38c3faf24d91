const discreet = new WeakMap<object, string>();

/** Notes what to say of a failure where nothing may tell one record from another, as in events. */
export function saidDiscreetly<E extends Error>(failure: E, message: string): E {
  discreet.set(failure, message);
  return failure;
}

/** What a failure says where nothing may tell one record from another. */
export function discreetMessage(failure: Error): string {
  return discreet.get(failure) ?? failure.message;
}
