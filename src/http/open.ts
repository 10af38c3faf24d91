import { defer, switchMap } from 'rxjs';
import type { Answer, Post, Transport, TransportOptions } from './transport.js';

/** A transport that opens with its first request, or earlier if the program has to wait for something else anyway. */
export interface OpenedTransport<A extends Answer = Answer> extends Transport<A> {
  /** Starts to load what the first request needs. That request reports a failure to load. */
  prepare(): void;
}

/**
 * Posts JSON once. Redirects are not followed; any status from 200 to 299 is success. Of the answer nothing else is read. The first message loads the code for
 * this.
 *
 * @throws {SourceError} Its `kind` shows whether another attempt may help. Its message contains at most the host of the address.
 */
export async function postJson(message: Post): Promise<void> {
  const { post } = await loading();
  await post(message);
}

/** Starts to load what transports need, before there are options for one. */
export function loadTransport(): void {
  // The first request reports the failure.
  loading().catch(() => undefined);
}

function loading() {
  return import('./transport.js');
}

/** Creates a transport for this thread. The HTTP library is loaded with the first request, so this thread never loads it if another one fetches. */
export function openTransport(options: TransportOptions): OpenedTransport {
  let opened: Promise<Transport> | undefined;
  const open = async (): Promise<Transport> => {
    const { createTransport } = await loading();
    return await createTransport(options);
  };
  return {
    prepare: () => void (opened ??= open()).catch(() => undefined),
    get: (target) => defer(() => (opened ??= open())).pipe(switchMap((transport) => transport.get(target))),
    close: async () => {
      const transport = await opened?.catch(() => undefined);
      await transport?.close();
    },
  };
}
