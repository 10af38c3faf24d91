import { once } from 'node:events';
import type { Server } from 'node:net';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

/** Closes something behind the test that opened it. */
export function closeAfter<T extends { close(): unknown }>(each: T): T {
  open.push(each);
  return each;
}

/** Lets a server listen until the test ends. @returns Its port. */
export async function listening(server: Server & { closeAllConnections?(): void }, host: string | null = '127.0.0.1'): Promise<number> {
  await once(server.listen(0, host ?? undefined), 'listening');
  closeAfter({ close: () => (server.close(), server.closeAllConnections?.()) });
  return portOf(server);
}

export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
