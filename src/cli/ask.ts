import { createInterface } from 'node:readline/promises';
import { LeadstreamError } from '../core/index.js';
import type { CommandContext } from './context.js';

/** Asks a person at a terminal. */
export interface Ask {
  /**
   * @param usual The answer that an empty line stands for.
   * @throws {LeadstreamError} `E_RUN_ABORTED` when the input ends without an answer.
   */
  question(text: string, usual: string): Promise<string>;
  close(): void;
}

/** @throws {LeadstreamError} `E_USAGE` if there is no terminal to ask at. */
export function asking({ stdin, stderr, signal }: CommandContext): Ask {
  const input = stdin?.();
  if (!input?.isTTY) throw new LeadstreamError('E_USAGE', 'there is no terminal to ask on; pass --yes and the answers as options');
  const lines = createInterface({ input, output: stderr });
  const ended = new Promise<never>((_resolve, reject) => {
    lines.once('close', () => reject(new LeadstreamError('E_RUN_ABORTED', 'nothing was written: the questions were not answered')));
  });
  ended.catch(() => {});
  return {
    question: async (text, usual) => {
      try {
        const answer = await Promise.race([lines.question(`${text}${usual === '' ? '' : ` [${usual}]`}: `, { signal }), ended]);
        return answer.trim() || usual;
      } catch (failure) {
        // The error message gets its own line.
        stderr.write('\n');
        throw failure;
      }
    },
    close: () => lines.close(),
  };
}
