/** Zstandard in WebAssembly: Node 20 has no built-in one, and a single library produces the same bytes on every version of Node. */
export interface Zstd {
  compress(bytes: Uint8Array, level: number): Uint8Array;
  decompress(bytes: Uint8Array): Uint8Array;
}

let loading: Promise<Zstd> | undefined;

/** Loads the library on first use. */
export function zstd(): Promise<Zstd> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Zstd> {
  const { compress, decompress, init } = await import('@bokuweb/zstd-wasm');
  await init();
  return { compress, decompress };
}
