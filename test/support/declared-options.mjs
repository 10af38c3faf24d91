// Prints the options that public functions take, by their declared types, as JSON. Runs in a separate process.
import { API, SignatureKind, SymbolFlags, TypeFlags } from 'typescript/unstable/sync';

const root = process.cwd();
const entries = ['src/leadstream.ts', 'src/pipelines.ts', 'src/tables.ts', 'src/service/index.ts', 'src/testing.ts'];
const api = new API({ cwd: root });
const [{ checker, program }] = api.updateSnapshot({ openProjects: [`${root}/tsconfig.json`] }).getProjects();

const exportsOf = (file) => checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(`${root}/${file}`)));
const [probed] = exportsOf('test/support/option-probes.ts');
const probes = checker.getPropertiesOfType(checker.getTypeOfSymbol(probed)).map((each) => [each.name, checker.getTypeOfSymbol(each)]);

const callsOf = (type) => checker.getSignaturesOfType(type, SignatureKind.Call);
const withoutUndefined = (type) => (type.flags & TypeFlags.Union ? (checker.getNonNullableType(type) ?? type) : type);

/** Returns the values that fit a type; for a type parameter, those that fit its constraint. */
function acceptedBy(type) {
  const wanted = checker.getBaseConstraintOfType(type) ?? type;
  // Callers without types do not know the parameters and result of a function.
  const kinds = wanted.flags & TypeFlags.Union ? wanted.getTypes() : [wanted];
  const takesFunction = kinds.some((kind) => callsOf(kind).length > 0);
  return probes.flatMap(([name, probe]) =>
    checker.isTypeAssignableTo(probe, wanted) || (takesFunction && name === 'a function') ? [name] : [],
  );
}

/** Objects made by our functions, and the counts and functions of a run: callers never write these themselves. */
const made = ['Collection', 'Pipeline', 'DataSource', 'RunReport', 'StepContext', 'SinkContext', 'Partial', 'Tally'];

/** Whether a type is an object with options of ours, rather than an object of a class, a list, a function or a union of those. */
function isOptions(type) {
  if (!(type.flags & (TypeFlags.Object | TypeFlags.Intersection)) || checker.isArrayLikeType(type)) return false;
  const symbol = type.getSymbol();
  if ((symbol?.flags ?? 0) & SymbolFlags.Class || made.includes(symbol?.name) || callsOf(type).length > 0) return false;
  const own = checker.getPropertiesOfType(type);
  return own.length > 0 && own.every(({ valueDeclaration: { path } = { path: '/src/' } }) => /\/(?:src|zod)\//.test(path));
}

function optionsOf(type, path, depth) {
  if (depth === 0 || !isOptions(type)) return [];
  return checker.getPropertiesOfType(type).flatMap((property) => {
    const declared = checker.getTypeOfSymbol(property);
    if (declared.flags & TypeFlags.Never) return [];
    const isOptional = (property.flags & SymbolFlags.Optional) !== 0;
    const place = [...path, property.name];
    return [{ path: place, isOptional, accepts: acceptedBy(declared) }, ...optionsOf(withoutUndefined(declared), place, depth - 1)];
  });
}

function parameterOf(symbol) {
  const declared = checker.getTypeOfSymbol(symbol);
  const node = symbol.valueDeclaration?.resolve();
  const isOptional = node?.initializer !== undefined || node?.questionToken !== undefined;
  const inner = withoutUndefined(checker.getBaseConstraintOfType(declared) ?? declared);
  return { name: symbol.name, isOptional, accepts: acceptedBy(declared), options: optionsOf(inner, [], 2) };
}

const taken = (name, [signature]) => ({ name, parameters: signature.getParameters().map(parameterOf) });

function functionsOf(symbol) {
  const target = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  if (target.flags & SymbolFlags.Class) {
    const methods = checker
      .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(target))
      .filter(({ flags, name }) => flags & SymbolFlags.Method && !name.startsWith('__'));
    return methods.map((method) => taken(`${symbol.name}.${method.name}`, callsOf(checker.getTypeOfSymbol(method))));
  }
  const calls = target.flags & SymbolFlags.Value ? callsOf(checker.getTypeOfSymbol(target)) : [];
  return calls.length === 0 ? [] : [taken(symbol.name, calls)];
}

const functions = entries.flatMap((entry) => exportsOf(entry).flatMap(functionsOf));
process.stdout.write(JSON.stringify(functions.filter(({ parameters }) => parameters.length > 0)));
api.close();
