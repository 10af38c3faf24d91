/** A message for a server. */
export interface Post {
  readonly url: string;
  readonly json: unknown;
  /** Name of the message in errors, without the address, which may contain a token. */
  readonly label: string;
  /** Time limit for the answer. */
  readonly timeoutMs: number;
  /** Ends the wait for an answer early, as a transient failure. Default: nothing does. */
  readonly signal?: AbortSignal;
  /** Address of the proxy to use; `undefined` for none. */
  readonly proxy: string | undefined;
}

/**
 * Posts JSON once. Redirects are not followed; any status from 200 to 299 is success. The first message loads the code for this.
 *
 * @throws {SourceError} Its `kind` shows whether another attempt may help. Its message contains at most the host of the address.
 */
export async function postJson(message: Post): Promise<void> {
  const { post } = await import('./post.js');
  await post(message);
}
