import type { Console } from './console.js';

/** What a thrown value tells about itself, without loading the catalogue. */
interface Told {
  readonly code: string;
  readonly message: string;
  readonly help: string;
  readonly exit: number;
}

/** Says why a command failed, in one line (one per problem of a pipeline file), and gives the exit code. */
export function tellFailure(console: Console, thrown: unknown): number {
  const { code, message, help, exit } = toldBy(thrown);
  if (console.format === 'json') console.log('error', message, { code, help, exit });
  else console.log('error', isSpecFailure(thrown) ? message : `leadstream: ${code}: ${sentence(message)} ${help}`);
  if (thrown instanceof Error && thrown.stack) console.log('debug', thrown.stack);
  return exit;
}

/** What a failure tells to people and machines. */
export function toldBy(thrown: unknown): Told {
  if (thrown instanceof Error && 'code' in thrown && 'exit' in thrown && 'help' in thrown && typeof thrown.exit === 'number') {
    return { code: String(thrown.code), message: thrown.message, help: String(thrown.help), exit: thrown.exit };
  }
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : 'something unknown was thrown';
  return { code: 'E_RUN_FAILED', message, help: 'This is a defect of leadstream; please report it.', exit: 1 };
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** Problems of a pipeline file have their place in front, where editors look for it. */
function isSpecFailure(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'SpecError';
}
