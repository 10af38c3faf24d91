/** A program that runs pipelines of the built package as its parent says: `{ text, baseDir }` -> `'published'`, or the code of the failure. */
import process from 'node:process';
import { loadPipeline, runPipeline } from '../../dist/pipelines.js';

async function obey({ text, baseDir }) {
  try {
    await runPipeline(await loadPipeline({ text, file: 'p.yaml' }, { baseDir }));
    return 'published';
  } catch (failure) {
    return failure.code ?? String(failure);
  }
}

process.on('message', (order) => void obey(order).then((answer) => process.send(answer)));
