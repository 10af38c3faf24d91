/**
 * What is said of a function of another language.
 *
 * @param name As written, without what it is called on.
 * @param operand What stands in its brackets or before its dot, when that is a name; otherwise some field.
 */
export function foreignCall(name: string, operand: string): string | undefined {
  const word = name.toLowerCase().replaceAll('_', '');
  const remedy = Object.hasOwn(remedies, word) ? remedies[word]?.(operand) : undefined;
  return remedy === undefined ? undefined : `there is no ${name}(); ${remedy}`;
}

const [size, lower, upper, trim, blank, concat, substring, contains, round, year, now] = [
  (x: string) => `use size(${x})`,
  (x: string) => `use lower(${x})`,
  (x: string) => `use upper(${x})`,
  (x: string) => `use trim(${x})`,
  (x: string) => `use blank(${x})`,
  () => 'texts are joined by +',
  (x: string) => `use ${x}.substring(0, 3), which fails for shorter texts`,
  (x: string) => `use ${x}.contains('…')`,
  (x: string) => `int(num(${x})) leaves out what is behind the point, and is an error of the row where ${x} is blank`,
  (x: string) => `an instant has getFullYear(), as in epoch(${x}).getFullYear()`,
  () => "an expression depends on its row alone; write the day, as in date('20240229')",
] as const;

/** By name in small letters, without underscores. */
const remedies: Readonly<Record<string, (operand: string) => string>> = {
  ...{ len: size, length: size, strlen: size, charlength: size },
  ...{ tolower: lower, tolowercase: lower, lcase: lower, toupper: upper, touppercase: upper, ucase: upper },
  ...{ strip: trim, ltrim: trim, rtrim: trim },
  ...{ isnull: blank, isempty: blank, empty: blank, isblank: blank },
  ...{ concat, substr: substring, mid: substring, includes: contains, instr: contains, strpos: contains, like: contains },
  ...{
    coalesce: (x) => `use blank(${x}) ? '…' : ${x}`,
    ifnull: (x) => `use blank(${x}) ? '…' : ${x}`,
    nvl: (x) => `use blank(${x}) ? '…' : ${x}`,
  },
  ...{ round, floor: round, trunc: round, truncate: round, year },
  ...{ now, today: now, currentdate: now, currenttimestamp: now, getdate: now, sysdate: now },
};
