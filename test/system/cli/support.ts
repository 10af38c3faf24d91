import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipelineText } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** A folder with the pipeline file `p.yaml`. */
export async function workplace(body: string): Promise<string> {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'p.yaml'), pipelineText(body));
  return cwd;
}

export const toCsv = 'from: leads\nto:\n  - csv: { path: out/leads.csv }';
export const toStdout = 'from: leads\nto:\n  - stdout: {}';
