/** A message for a server. */
export interface Post {
  readonly url: string;
  readonly json: unknown;
  /** What messages call it, without the address, which may hold a token. */
  readonly label: string;
  /** Time until the answer is there. */
  readonly timeoutMs: number;
  /** Ends the wait for an answer before that, as a transient failure. Default: nothing does. */
  readonly signal?: AbortSignal;
  /** Address of the proxy on the way. */
  readonly proxy: string | undefined;
}

/**
 * Posts JSON once. Redirects are not followed; any status from 200 to 299 is success. What it takes is loaded with the first message.
 *
 * @throws {SourceError} Whose `kind` says whether another attempt may help. Its message has the host of the address at most.
 */
export async function postJson(message: Post): Promise<void> {
  const { post } = await import('./post.js');
  await post(message);
}
