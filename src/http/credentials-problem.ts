import { itemAt, nearest, unknownName } from '../core/index.js';
import { isField, type CredentialField, type CredentialFields } from './credential-fields.js';
import { credentialForms } from './credential-forms.js';

/** Describes what is wrong with the given credentials, in words that follow their name and reveal no value. */
export function credentialsProblem(auth: unknown): string | undefined {
  if (auth === undefined) return remedy();
  if (typeof auth !== 'object' || auth === null) return `must be an object: ${remedy()}`;
  const given = new Map<string, unknown>(Object.entries(auth));
  const names = [...given.keys()];
  const known = credentialForms.flatMap(({ fields }) => Object.keys(fields));
  const unknown = names.find((name) => !known.includes(name));
  // A name that does not resemble a field could be the key itself.
  if (unknown !== undefined)
    return nearest(unknown, known) === undefined ? `has an unknown field: ${remedy()}` : unknownName('field', unknown, known);
  const first = names[0] ?? itemAt(known, 0);
  const { fields: wanted } = itemAt(
    credentialForms.filter(({ fields }) => Object.hasOwn(fields, first)),
    0,
  );
  const other = names.find((name) => !Object.hasOwn(wanted, name) && given.get(name) !== undefined);
  if (other !== undefined) return `${first} cannot be combined with ${other}: ${remedy()}`;
  for (const [name, field] of Object.entries(wanted)) {
    const value = given.get(name);
    if (value === undefined) return `${name} is missing: ${remedy()}`;
    const problem = problemOf(name, field, value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Returns the accepted forms. */
function remedy(): string {
  return `use ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(credentialForms.map(({ fields }) => shapeOf(fields)))}`;
}

/** Returns a form's fields, like `{ header: { name, value } }`. */
function shapeOf(fields: CredentialFields): string {
  const names = Object.entries(fields).map(([name, field]) => (isField(field) ? name : `${name}: ${shapeOf(field)}`));
  return `{ ${names.join(', ')} }`;
}

/** Describes what is wrong with a field, or with the first wrong one in an object of fields. */
function problemOf(name: string, field: CredentialField | CredentialFields, value: unknown): string | undefined {
  if (isField(field)) {
    const problem = typeof value === 'string' ? field.problem(value) : 'must be a text';
    return problem === undefined ? undefined : `${name} ${problem}`;
  }
  const given = new Map<string, unknown>(typeof value === 'object' && value !== null ? Object.entries(value) : []);
  const inner = Object.entries(field);
  if (inner.some(([part, each]) => typeof given.get(part) !== (isField(each) ? 'string' : 'object')))
    return `${name} must have ${Object.keys(field).join(' and ')}, ${inner.length === 2 ? 'both' : 'all'} texts`;
  return inner.map(([part, each]) => problemOf(`${name}.${part}`, each, given.get(part))).find((problem) => problem !== undefined);
}
