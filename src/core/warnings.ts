/** The warnings of a run; under `strict` they are failures. Codes are as stable as those of failures. */
export const warningCatalogue = {
  W_SPEC_FLAG: { help: 'A flag is written in several ways; use flag(field) instead of comparing its text, or cast it first.' },
  W_SPEC_TEXT: {
    help: 'A text is compared letter by letter, or with a value that its field never has; convert it with num(), epoch() or date(), or cast it first.',
  },
  W_SPEC_CONSTANT: { help: "Two constants are compared, so the result is the same for every row; write a field's name without quotes." },
  W_SPEC_MATCHES: {
    help: 'Several rows of the other collection may match, and then the join fails; join on all columns of its key, or choose a row with pick.',
  },
  W_SOURCE_CAP: { help: 'The service returns fewer rows per page than requested; set service.limit to its cap.' },
  W_SOURCE_REPEATS: { help: 'The service repeats its last page instead of ending the list; the repeats were left out.' },
  W_SOURCE_PAGED: { help: 'The service pages a collection that its documentation calls unpaged; it was read page by page.' },
  W_SPOOL_STALE: { help: 'The pages of an interrupted run could not be used; only time is lost.' },
  W_RUN_RECOVERED: { help: 'An earlier run was killed while it committed; its commit was recovered from the redo log first.' },
  W_SINK_TIDY: { help: 'Everything is published, but a leftover could not be removed; the next run tries again.' },
  W_SINK_ABORT: {
    help: 'A sink of the program or of a plug-in could not undo what it had written; check its destination, and correct its abort.',
  },
  W_SINK_COLUMN: {
    help: 'The rows have a field that columns does not list, so it is left out; list it, or drop it with select.',
  },
  W_SOURCE_FIELD_NEW: { help: 'The service has a field that its documentation does not list; tell the readers of the outputs.' },
  W_SOURCE_FIELD_GONE: { help: "No row has a declared field, so its column is null throughout; contact the service's operator." },
  W_SOURCE_EMPTY: {
    help: 'A list is empty, and no earlier run shows whether it always was; check the service before you rely on the outputs.',
  },
  W_GATE_BASELINE: {
    help: 'An output exists that no run of this state folder wrote, so max_read_shrink, max_shrink and max_growth have nothing to compare with; name the state folder of the earlier runs with --state-dir, or, if it is lost, run once with --allow-shrink under strict.',
  },
  W_GATE_OVERRIDDEN: {
    help: 'A list or an output shrank more than allowed, and --allow-shrink lets it be published once; later runs are compared with it.',
  },
  W_SINK_EMPTY: {
    help: 'An output has no rows, because a step or the sink rejected all of them; check the rejects, and set rejects.max to refuse such a run.',
  },
  W_STEP_EMPTY: { help: 'A filter kept no row; check its condition, and set expect.min_rows to refuse such a run.' },
  W_STEP_NO_MATCH: { help: 'A join found no match at all; check its fields, and set min_match to refuse such a run.' },
  W_SINK_LINK: {
    help: 'The link of a table was missing although its runs exist, as in a backup without links; the run published all its rows again.',
  },
  W_STATE_LOG: {
    help: 'No log of runs has the manifest that verify or rollback compared with the files, so nothing confirms that it is the one of the run; name the state folder of the runs.',
  },
  W_RUN_RESTARTED: {
    help: 'Undeclared fields arrived, so the run started again with columns for them (on_new_field: restart); declare them to save the time.',
  },
  W_RUN_COUNTS: { help: 'The counts of earlier runs could not be read or stored, so a list that shrank may go unnoticed.' },
  W_RUN_PARTIAL: { help: 'A limit stopped the read, so the outputs have only part of the list; later runs are not compared with it.' },
  W_RUN_HOOK: {
    help: "The webhook of on_success or on_failure could not be notified, or the program's callback (ended of runPipeline) failed; the run and its exit code are unaffected.",
  },
  W_RUN_KEPT: { help: 'A gate refused the outputs, and run --keep-failed quarantined them; remove them after inspection.' },
  W_SOURCE_UNCHECKED: {
    help: 'The service returns each page of this list only once, so rows that moved during the read go unnoticed; consistency: prove reads the list again.',
  },
  W_SOURCE_DRIFT: { help: 'The list changed while it was read; consistency: repair adds what was missed.' },
} as const satisfies Record<string, { readonly help: string }>;

/** A stable code of the catalogue of warnings. */
export type WarningCode = keyof typeof warningCatalogue;
