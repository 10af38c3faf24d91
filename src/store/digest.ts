import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { attempt } from './failure.js';

/**
 * Computes the SHA-256 of a file's contents in hexadecimal, reading in chunks.
 *
 * @throws {SinkError} `E_SINK_WRITE` if the file cannot be read back.
 */
export function sha256File(path: string): Promise<string> {
  return attempt('E_SINK_WRITE', `cannot read back ${path}`, async () => {
    const hash = createHash('sha256');
    const file = await open(path);
    try {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      for (;;) {
        const { bytesRead } = await file.read(chunk, 0, chunkBytes);
        if (bytesRead === 0) return hash.digest('hex');
        hash.update(chunk.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  });
}

const chunkBytes = 1 << 20;
