import type { z } from 'zod';
import { schema, type Zod } from '../../core/index.js';
import { credentialForms, isField, type CredentialField, type CredentialFields, type Credentials } from '../../http/index.js';

/** The shape of `service.auth`: credentials of one of the forms. What is wrong with a key is told later, with where it comes from. */
export const authShape = schema((z) => {
  const shape = z.union(credentialForms.map(({ fields }) => objectOf(z, fields)));
  // They are the objects of the forms, which the type system cannot follow through the list of them.
  return (shape as z.ZodType<Credentials>).optional().describe(description());
});

function objectOf(z: Zod, fields: CredentialFields): z.ZodType {
  const entries = Object.entries(fields).map(([name, field]) => [name, isField(field) ? textOf(z, field) : objectOf(z, field)] as const);
  return z.strictObject(Object.fromEntries(entries));
}

function textOf(z: Zod, { privacy, problem }: CredentialField): z.ZodType {
  const text = privacy === 'plain' ? z.string() : z.string().min(1, { abort: true });
  if (privacy === 'secret') return text;
  return text.superRefine((value, context) => {
    const message = problem(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}

function description(): string {
  const sentBy = (way: 'query' | 'header') => eitherOf(credentialForms.filter((form) => form.sentBy === way).map(({ summary }) => summary));
  return `${sentBy('query')}; for other services ${sentBy('header')}. References only.`;
}

function eitherOf(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(', or ');
}
