/**
 * Describes what someone else's function threw without revealing data: its class, an error code like those of systems and databases, and
 * the place in the code. The message may contain anything, so it is left out; it is available through `cause`.
 *
 * @example
 * whatWasThrown(new RangeError('no such zip: 10001')); // 'RangeError (at /srv/steps.mjs:12:9)'
 */
export function whatWasThrown(thrown: unknown): string {
  if (!(thrown instanceof Error)) return thrown === null ? 'null' : `a value of type ${typeof thrown}`;
  const { name } = thrown;
  const code = 'code' in thrown && typeof thrown.code === 'string' && codePattern.test(thrown.code) ? ` ${thrown.code}` : '';
  const place = placeOf(thrown);
  return `${namePattern.test(name) ? name : 'Error'}${code}${place === undefined ? '' : ` (at ${place})`}`;
}

const namePattern = /^[A-Za-z_$][\w$]{0,60}$/;
const codePattern = /^[A-Z0-9_]{2,40}$/;

/**
 * Returns where it was thrown: the first line of the stack that names a file. The message comes before the stack frames, and may look like one.
 */
function placeOf({ stack, message }: Error): string | undefined {
  const at = stack?.indexOf(message) ?? -1;
  const frames = at < 0 ? '' : (stack?.slice(at + message.length) ?? '');
  return /^\s+at (?:.*\()?(?:file:\/\/)?(\/[^\n]*?:\d+:\d+)\)?$/m.exec(frames)?.[1];
}

/** Returns the text of anything thrown, for our own messages (some libraries throw strings). */
export function reasonOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message);
  return typeof thrown === 'string' ? thrown : 'unknown failure';
}
