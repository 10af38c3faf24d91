/** The keys of a pipeline for webhooks. */
export const hookNames = ['on_success', 'on_failure'] as const;
