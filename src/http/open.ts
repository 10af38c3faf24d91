import { defer, switchMap } from 'rxjs';
import type { Answer, Transport, TransportOptions } from './transport.js';

/** A transport that is there with its first request, or before that when somebody has to wait for something else anyway. */
export interface OpenedTransport<A extends Answer = Answer> extends Transport<A> {
  /** Begins to load what the first request needs. That it fails is told by that request. */
  prepare(): void;
}

/** Begins to load what transports need, before there are options for one. */
export function loadTransport(): void {
  // That it fails is told by the first request.
  loading().catch(() => undefined);
}

function loading() {
  return import('./transport.js');
}

/** A transport of this thread. The HTTP library is loaded with the first request: where another thread fetches, this one is spared it. */
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
