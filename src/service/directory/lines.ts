import { createReadStream } from 'node:fs';
import { TextDecoder } from 'node:util';
import { LeadstreamError } from '../../core/index.js';

/** A piece of a file with the 1-based number of the line where it starts. */
export interface Numbered {
  readonly text: string;
  readonly line: number;
}

/**
 * Reads the lines of a UTF-8 file, each with its line break; a byte order mark is left out.
 *
 * Memory: one chunk of the file and its longest line.
 *
 * @throws {LeadstreamError} `E_DATA` when the file cannot be read or is not UTF-8.
 */
export async function* linesOf(file: string): AsyncGenerator<Numbered> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  let rest: string[] = [];
  for await (const chunk of chunksOf(file)) {
    const pieces = decodeAt(file, line, decoder, chunk).split('\n');
    const last = pieces.pop() ?? '';
    for (const piece of pieces) {
      yield { text: `${rest.join('')}${piece}\n`, line };
      rest = [];
      line += 1;
    }
    rest.push(last);
  }
  const text = rest.join('') + decodeAt(file, line, decoder);
  if (text !== '') yield { text, line };
}

/** Returns an `E_DATA` error that names the place and never the content. */
export function dataError(file: string, line: number, problem: string): LeadstreamError {
  return new LeadstreamError('E_DATA', `${file}:${line} ${problem}`);
}

async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(file)) {
      if (chunk instanceof Uint8Array) yield chunk;
    }
  } catch {
    throw new LeadstreamError('E_DATA', `${file}: cannot be read`);
  }
}

/** Decodes a chunk, or the remainder at the end of the file. */
function decodeAt(file: string, line: number, decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
  } catch {
    throw dataError(file, line, 'or a line soon after it is not UTF-8');
  }
}
