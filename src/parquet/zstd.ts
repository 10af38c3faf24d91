/** Zstandard in WebAssembly: Node 20 has none of its own, and one library on every Node gives the same bytes on all. */
export interface Zstd {
  compress(bytes: Uint8Array, level: number): Uint8Array;
  decompress(bytes: Uint8Array): Uint8Array;
}

let loading: Promise<Zstd> | undefined;

/** Loads it on first use. */
export function zstd(): Promise<Zstd> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Zstd> {
  const { compress, decompress, init } = await import('@bokuweb/zstd-wasm');
  await init();
  return { compress, decompress };
}
