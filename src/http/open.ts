import { defer, switchMap } from 'rxjs';
import type { Transport, TransportOptions } from './transport.js';

/** A transport of this thread. The HTTP library is loaded with the first request: where another thread fetches, this one is spared it. */
export function openTransport(options: TransportOptions): Transport {
  let opened: Promise<Transport> | undefined;
  const open = async (): Promise<Transport> => {
    const { createTransport } = await import('./transport.js');
    return await createTransport(options);
  };
  return {
    get: (target) => defer(() => (opened ??= open())).pipe(switchMap((transport) => transport.get(target))),
    close: async () => {
      const transport = await opened?.catch(() => undefined);
      await transport?.close();
    },
  };
}
