/** Exit codes: what happened, and who must act. They are stable, as scripts and schedulers depend on them. */
export const exitCodes = {
  0: { meaning: 'Published, or done.', action: 'Nothing.' },
  1: { meaning: 'The run failed: disk, permissions, a step.', action: 'A person reads `error` in the report.' },
  2: { meaning: 'Wrong usage.', action: 'A person corrects the command.' },
  65: {
    meaning: 'A gate refused; nothing was published.',
    action: 'Check the data; run again when it is fixed. That reads everything again.',
  },
  69: { meaning: 'The service could not be read.', action: 'Run again; the run resumes.' },
  75: { meaning: 'Another run is writing to an output.', action: 'Run again when it has ended.' },
  76: {
    meaning: '`doctor` could not determine all that a run needs to know about the service, or found that no run can read it.',
    action: 'A person reads the findings.',
  },
  77: { meaning: 'The credentials were refused.', action: 'A person changes the key, now.' },
  78: { meaning: 'The pipeline file is wrong.', action: 'A person corrects it, now: `leadstream validate FILE` names line and column.' },
  129: { meaning: 'Stopped by SIGHUP.', action: 'Run again; the run resumes.' },
  130: { meaning: 'Stopped by SIGINT.', action: 'Run again; the run resumes.' },
  143: { meaning: 'Stopped by SIGTERM.', action: 'Run again; the run resumes.' },
} as const satisfies Readonly<Record<number, { readonly meaning: string; readonly action: string }>>;

export type ExitCode = keyof typeof exitCodes;
