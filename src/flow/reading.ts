import { warnProcess, type Warning } from '../core/index.js';
import { standalone, type StepContext } from './context.js';
import type { CountedStep, Purpose, RowSource } from './row-source.js';
import type { Reading } from './step-facts.js';

/** One read of a stream: what its steps count, and where their warnings go. */
export class OpenReading implements Reading {
  readonly steps: CountedStep[] = [];

  constructor(
    readonly purpose: Purpose,
    private readonly source: Pick<RowSource, 'warn'>,
  ) {}

  counted(at: string): StepContext {
    const context = standalone(at);
    this.steps.push({ at, tally: context.tally });
    return context;
  }

  /** To those who watch the connection; where nobody does, as a warning of the process. */
  warn(warning: Warning): void {
    if (!this.source.warn?.(warning)) warnProcess(warning);
  }
}
