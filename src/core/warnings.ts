/** The warnings of a run; under `strict` they are failures. Codes are as stable as those of failures. */
export const warningCatalogue = {
  W_SPEC_FLAG: { help: 'A flag comes in several words; ask flag(field) instead of comparing its text, or cast before.' },
  W_SPEC_TEXT: {
    help: 'A text is compared letter by letter, or with what its field never is; read it by num(), epoch() or date() first, or cast before.',
  },
  W_SPEC_CONSTANT: { help: "Two constants are compared, so the result is the same for every row; a field's name stands without quotes." },
  W_SPEC_MATCHES: {
    help: 'Several rows of the other collection may match, and then the join fails; join on all columns of its key, or say with pick which row to take.',
  },
  W_SPEC_GIVEN: {
    help: 'A row of a test has a field that its collection has not, under nearly the same name, so the step that reads the field finds nothing; correct the name.',
  },
  W_SOURCE_CAP: { help: 'The service gives fewer rows per page than were asked for; set service.limit to its cap.' },
  W_SOURCE_REPEATS: { help: 'The service repeats its last page instead of ending the list; the repeats were left out.' },
  W_SOURCE_PAGED: { help: 'The service pages a collection that its document calls unpaged; it was read page by page.' },
  W_SPOOL_STALE: { help: 'The pages of an interrupted run could not be used; nothing is lost but time.' },
  W_RUN_RECOVERED: { help: 'An earlier run was killed while it committed; its commit was recovered from the redo log first.' },
  W_SINK_TIDY: { help: 'Everything is published, but something superfluous could not be removed; the next run tries again.' },
  W_SINK_ABORT: {
    help: 'A sink of the program or of a plug-in could not take back what it had written; look at its destination, and correct its abort.',
  },
  W_SINK_COLUMN: {
    help: 'The rows have a field for which columns names no column, so it is left out; name it, or leave it out by select.',
  },
  W_SOURCE_FIELD_NEW: { help: 'The service has a field that its document does not list; tell whoever reads the outputs.' },
  W_SOURCE_FIELD_GONE: { help: 'A declared field came in no row, so its column is null throughout; ask whoever runs the service.' },
  W_SOURCE_EMPTY: {
    help: 'A list is empty, and no earlier run shows whether it always was; check the service before you rely on the outputs.',
  },
  W_GATE_BASELINE: {
    help: 'An output stands where no run of this state folder put it, so max_read_shrink, max_shrink and max_growth have nothing to compare with; name the folder of the earlier runs by --state-dir, or, under strict, run once with --allow-shrink if it is lost.',
  },
  W_GATE_OVERRIDDEN: {
    help: 'A list or an output shrank more than allowed, and --allow-shrink lets it be published once; later runs are compared with it.',
  },
  W_SINK_EMPTY: {
    help: 'An output holds no row, since a step or the sink rejected all that came to it; look into the rejects, and set rejects.max so that such a run is refused.',
  },
  W_STEP_EMPTY: { help: 'A filter kept no row; look at its condition, and set expect.min_rows so that such a run is refused.' },
  W_STEP_NO_MATCH: { help: 'A join found no match at all; look at its fields, and set min_match so that such a run is refused.' },
  W_SINK_LINK: {
    help: 'The link of a table was gone while its runs were there, as in a backup without links; the run published all its rows again.',
  },
  W_SINK_UNSIGNED: {
    help: 'There is a manifest key, and the files that a run kept were published without one, or by another state folder; compare the table with its source.',
  },
  W_STATE_LOG: {
    help: 'No log of runs has the manifest that verify or rollback compared with the files, so nothing tells that it is the one of the run; name the state folder of the runs.',
  },
  W_RUN_RESTARTED: {
    help: 'Fields came that nobody declared, so the run began again with columns for them, as on_new_field: restart asks; declare them to save the time.',
  },
  W_RUN_COUNTS: { help: 'What earlier runs counted could not be read or kept, so a list that has become small may pass unnoticed.' },
  W_RUN_PARTIAL: { help: 'A limit stopped the read, so the outputs hold a part of the list; later runs are not compared with it.' },
  W_RUN_HOOK: {
    help: 'The webhook of on_success or on_failure was not told how the run ended, or what the program does then (ended of runPipeline) failed; the run and its exit code stay as they are.',
  },
  W_RUN_KEPT: { help: 'A gate refused, and run --keep-failed put the outputs aside; remove them when you have looked.' },
  W_SOURCE_UNCHECKED: {
    help: 'The service gives a page of this list only once, so that rows which moved during the read are not noticed; consistency: prove reads the list again.',
  },
  W_SOURCE_DRIFT: { help: 'The list changed while it was read; consistency: repair adds what was missed.' },
} as const satisfies Record<string, { readonly help: string }>;

/** A stable code of the catalogue of warnings. */
export type WarningCode = keyof typeof warningCatalogue;
