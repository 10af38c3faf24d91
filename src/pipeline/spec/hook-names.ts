/** The keys of a pipeline that name webhooks. */
export const hookNames = ['on_success', 'on_failure'] as const;
