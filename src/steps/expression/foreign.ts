import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column } from '../../core/index.js';
import { readers } from './readers.js';

/** A call, as written, of a function that does not exist. */
export interface ForeignCall {
  /** Name without the receiver. */
  readonly name: string;
  /** The receiver, if any, and the arguments. */
  readonly operands: readonly ASTNode[];
  readonly source: string;
}

/** What a proposal is checked against before it is made. */
export interface Proposals {
  readonly columns: readonly Column[];
  /** Returns the CEL type of an expression; `undefined` if it is refused itself. */
  typeOf(expression: string): string | undefined;
}

/** Explains what to write instead of a function of another language, with its operands as written, if such a call can be valid. */
export function foreignCall({ name, operands, source }: ForeignCall, over: Proposals): string | undefined {
  const word = name.toLowerCase().replaceAll('_', '');
  const remedy = Object.hasOwn(remedies, word) ? remedies[word] : undefined;
  if (remedy === undefined) return undefined;
  const texts = operands.map((node) => asOperand(node, source));
  const proposed = remedy.instead(texts, over);
  const works = proposed !== undefined && over.typeOf(proposed) !== undefined;
  return `there is no ${name}(); ${works ? remedy.words.replace('%', () => proposed) : remedy.without}`;
}

/** A part of an expression as written. */
interface Operand {
  readonly said: string;
  /** The form to use before a dot. */
  readonly dotted: string;
}

function asOperand({ op, start, end }: ASTNode, source: string): Operand {
  const said = source.slice(start, end);
  return { said, dotted: ['id', 'value', 'call', 'rcall', '.', '[]', 'list'].includes(op) ? said : `(${said})` };
}

interface Remedy {
  /** The message, with `%` for what to write. */
  readonly words: string;
  /** The message when nothing can be proposed. */
  readonly without: string;
  instead(operands: readonly Operand[], over: Proposals): string | undefined;
}

const [size, lower, upper, trim, blank] = ['size', 'lower', 'upper', 'trim', 'blank'].map((name): Remedy => ({
  words: 'use %',
  without: `use ${name}()`,
  instead: ([x]) => (x === undefined ? undefined : `${name}(${x.said})`),
})) as [Remedy, Remedy, Remedy, Remedy, Remedy];

const [year, month, day] = [
  { words: 'an instant has getFullYear()', call: (instant: string) => `${instant}.getFullYear()` },
  { words: 'an instant has getMonth(), which is 0 in January', call: (instant: string) => `(${instant}.getMonth() + 1)` },
  { words: 'an instant has getDate()', call: (instant: string) => `${instant}.getDate()` },
].map(({ words, call }): Remedy => ({
  words: `${words}, as in %`,
  without: words,
  instead: ([x], over) => {
    const instant = x && instantOf(x, over);
    return instant === undefined ? undefined : call(instant);
  },
})) as [Remedy, Remedy, Remedy];

/** Makes a remedy without a proposal. */
const saying = (without: string): Remedy => ({ words: '', without, instead: () => undefined });

const concat = saying('text is joined with +');
const now: Remedy = {
  words: 'use %, when the run was first started',
  without: 'now() is when the run was first started',
  instead: () => 'now()',
};
const today: Remedy = {
  words: 'use %, the day on which the run was first started',
  without: 'run_date() is the day of the run',
  instead: () => 'run_date()',
};
const ago = saying("days_before(7) is the day a week before the run, and - duration('24h') takes an instant back");

const pieces = {
  words: 'use %, which counts from 0 and fails for shorter text',
  without: 'use x.substring(from, to), which counts from 0',
};

/** Returns whole numbers as written, the only operands from which a slice can be proposed. */
function wholes(operands: readonly Operand[]): readonly number[] | undefined {
  return operands.every(({ said }) => /^\d{1,6}$/.test(said)) ? operands.map(({ said }) => Number(said)) : undefined;
}

/** Other languages count from 1 and take a number of characters. */
const substring: Remedy = {
  ...pieces,
  instead: ([x, ...numbers]) => {
    const [from = 0, length = 0] = wholes(numbers) ?? [];
    const start = Math.max(0, from - 1);
    return x === undefined || length === 0 ? undefined : `${x.dotted}.substring(${start}, ${start + length})`;
  },
};

const left: Remedy = {
  ...pieces,
  instead: ([x, ...numbers]) => {
    const [length = 0] = wholes(numbers) ?? [];
    return x === undefined || length === 0 ? undefined : `${x.dotted}.substring(0, ${length})`;
  },
};

const contains: Remedy = {
  words: 'use %',
  without: 'call contains() with a dot',
  instead: ([x, sought]) => (x === undefined ? undefined : `${x.dotted}.contains(${sought?.said ?? "'…'"})`),
};

const otherwise: Remedy = {
  words: 'use %',
  without: 'use a condition: blank(…) ? value : other',
  instead: ([x, other], { typeOf }) => {
    if (x === undefined || other === undefined) return undefined;
    const number = /^\d+$/.test(other.said) ? `${other.said}.0` : other.said;
    const isNumber = typeOf(x.said) === 'string' && typeOf(number) === 'double';
    const [value, instead] = isNumber ? [`num(${x.said})`, number] : [x.said, other.said];
    return typeOf(value) === typeOf(instead) ? `(blank(${x.said}) ? ${instead} : ${value})` : undefined;
  },
};

const round: Remedy = {
  words: '% drops the decimals, and fails for a row without a number',
  without: 'int() drops the decimals of a number',
  instead: ([x], { typeOf }) => {
    if (x === undefined) return undefined;
    const type = typeOf(x.said);
    return type === 'string' ? `int(num(${x.said}))` : type === 'double' ? `int(${x.said})` : undefined;
  },
};

/** Remedies by name, in lower case without underscores. */
const remedies: Readonly<Record<string, Remedy>> = {
  ...{ len: size, length: size, strlen: size, charlength: size },
  ...{ tolower: lower, tolowercase: lower, lcase: lower, toupper: upper, touppercase: upper, ucase: upper },
  ...{ strip: trim, ltrim: trim, rtrim: trim },
  ...{ isnull: blank, isempty: blank, empty: blank, isblank: blank },
  ...{ concat, substr: substring, mid: substring, left, includes: contains, instr: contains, strpos: contains, like: contains },
  ...{ coalesce: otherwise, ifnull: otherwise, nvl: otherwise },
  ...{ round, floor: round, trunc: round, truncate: round, year, month, day },
  ...{ today, currentdate: today, currenttimestamp: now, getdate: now, sysdate: now, localtimestamp: now },
  ...{ daysago: ago, dateadd: ago, datesub: ago, subdate: ago },
};

/** Returns an operand as an instant: read as its column declares, or as it is. */
function instantOf(operand: Operand, { columns, typeOf }: Proposals): string | undefined {
  const { said, dotted } = operand;
  const column = columns.find(({ name }) => name === said);
  if (column && !column.cast && (column.type === 'timestamp' || column.type === 'date')) return `${readers[column.type]}(${said})`;
  return typeOf(said) === 'google.protobuf.Timestamp' ? dotted : undefined;
}
