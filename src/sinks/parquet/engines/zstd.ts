type Compress = (bytes: Uint8Array, level: number) => Uint8Array;

let loaded: Promise<Compress> | undefined;

/**
 * Loads zstd (WebAssembly, because Node 20 has none of its own) on first use.
 *
 * @param level 1 is fast, 19 is small.
 * @returns A compressor whose output depends on its input and the level only.
 */
export async function loadZstd(level: number): Promise<(bytes: Uint8Array) => Uint8Array> {
  const compress = await (loaded ??= load());
  return (bytes) => compress(bytes, level);
}

async function load(): Promise<Compress> {
  const { compress, init } = await import('@bokuweb/zstd-wasm');
  await init();
  return compress;
}
