/**
 * A custom step and a custom sink, for the pipeline file next to this one:
 *
 *   leadstream run examples/custom-step-and-sink.yaml --plugin examples/custom-step-and-sink.mjs
 */
import { once } from 'node:events';
import { open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { defineSink, defineStep } from 'leadstream';
import { z } from 'zod';

/** Adds a North American phone number in E.164 format, or null if the number is invalid. */
export const e164 = defineStep('e164', {
  summary: 'Adds a phone number in the form of E.164.',
  version: '1',
  options: z.strictObject({ field: z.string() }),
  needs: ({ field }) => [field],
  adds: { e164: 'text' },
  open:
    ({ field }) =>
    (row) => {
      const digits = (row[field] ?? '').replaceAll(/\D/g, '').replace(/^1/, '');
      return { ...row, e164: /^[2-9]\d{9}$/.test(digits) ? `+1${digits}` : null };
    },
});

/** Writes gzipped JSON lines to a file, which appears once all rows are written. */
export const ndjsonGz = defineSink('ndjson_gz', {
  summary: 'Writes JSON lines, compressed by gzip.',
  version: '1',
  options: z.strictObject({ path: z.string() }),
  async open({ path }, { baseDir }) {
    const file = resolve(baseDir, path);
    const handle = await open(`${file}.part`, 'w'); // a missing folder fails here, before the first request
    const stream = handle.createWriteStream();
    const gzip = createGzip();
    const written = pipeline(gzip, stream); // destroys both streams if one fails
    written.catch(() => {}); // reported by the call that awaits it
    return {
      async write(rows) {
        const room = gzip.write(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
        if (!room) await Promise.race([once(gzip, 'drain'), written]);
      },
      async commit() {
        gzip.end();
        await written;
        await rename(`${file}.part`, file);
      },
      async abort() {
        gzip.destroy();
        await written.catch(() => {}); // the file is closed by then
        await rm(`${file}.part`, { force: true });
      },
    };
  },
});
