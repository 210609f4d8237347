/**
 * Writes one `.d.ts` per entry point of a package, with only the declarations that it reaches. The output of `tsc`
 * cannot be published as it is, because the files of the client also declare functions that take types of zod, pino and
 * the NATS library (docs/decisions/015-one-bundler-one-typescript.md).
 *
 * TypeScript calls this API unstable, so `package.json` allows only patch releases, and test/system/packages.test.ts
 * compiles programs against the result.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SyntaxKind } from 'typescript/unstable/ast';
import { API, NodeBuilderFlags, SymbolFlags } from 'typescript/unstable/sync';

/**
 * @param entryPoints `entry`: a file of tsconfig.json. `file`: the target. `packages`: the packages that its types may
 * import. If zod may not be imported, its types are written out, so that readers need no zod and strict projects
 * compile (`exactOptionalPropertyTypes` with `skipLibCheck: false`, which zod's own types fail).
 */
export function writeTypes(entryPoints) {
  const config = join(import.meta.dirname, 'tsconfig.json');
  const api = new API();
  try {
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    for (const { entry, file, packages } of entryPoints) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, withLibrary(forOlderPackages(bundleTypes(project, entry, packages))));
    }
  } finally {
    api.close();
  }
}

/** `Symbol.asyncDispose` is newer than the `lib` of most projects. */
const withLibrary = (text) =>
  text.includes('Symbol.asyncDispose') ? `/// <reference lib="esnext.disposable" />\n${text}` : text;

/**
 * `zod/v4` is identical in zod 3.25 and 4. The last argument of XState's `StateMachine` is its default, and unknown
 * before XState 5.33.
 */
function forOlderPackages(text) {
  const compatible = text
    .replaceAll(/\b(from |import\()(['"])zod\2/g, '$1$2zod/v4$2')
    .replaceAll(/^\}, import\("xstate"\)\.MetaObject>;$/gm, '}>;');
  if (/\.MetaObject>;/.test(compatible)) throw new Error('this script does not know how XState names its MetaObject');
  return compatible;
}

const printFlags = NodeBuilderFlags.NoTruncation | NodeBuilderFlags.InTypeAlias;

function bundleTypes({ program, checker }, entry, packages) {
  const imported = new Map(packages.map((name) => [name, new Set()]));
  /** Names in the bundle, by symbol id. */
  const names = new Map();
  const statements = new Map();
  const writesZodOut = !packages.includes('zod');

  const requireAllowed = (name) => {
    if (!imported.has(name)) throw new Error(`the types of ${entry} need those of ${name}`);
  };

  /**
   * Adds the declaration of a symbol. Returns its name in the bundle, or null if no file of ours declares it at the top
   * level.
   */
  const include = (symbol) => {
    const source = ancestor(symbol.declarations[0]?.resolve(), SyntaxKind.ImportDeclaration)?.moduleSpecifier.text;
    if (source !== undefined && !source.startsWith('.')) {
      requireAllowed(source);
      imported.get(source).add(symbol.name);
      return symbol.name;
    }
    const target = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    if (names.has(target.id)) return names.get(target.id);
    const declarations = target.declarations.map((handle) => topStatement(handle.resolve()));
    if (declarations.length === 0 || declarations.includes(null)) return null;
    const name = unusedName(target.name, [...names.values()]);
    names.set(target.id, name);
    for (const statement of declarations) statements.set(statement, null);
    return name;
  };

  /** Returns the text of a statement, and adds everything that it refers to. */
  const rewrite = (statement) => {
    const changes = [];
    const references = [];
    const visit = (node) => {
      if (node.kind === SyntaxKind.ExportKeyword) {
        changes.push({ from: node.getStart(), to: node.end + 1, text: '' });
      } else if (writesZodOut && isOfZod(node)) {
        const type = checker.getTypeFromTypeNode(node);
        changes.push({ from: node.getStart(), to: node.end, text: checker.typeToString(type, node, printFlags) });
      } else if (node.kind === SyntaxKind.ImportType) {
        const name = node.argument.literal.text;
        if (name.startsWith('.')) references.push({ identifier: node.qualifier, from: node.getStart() });
        else requireAllowed(name);
        for (const argument of node.typeArguments ?? []) visit(argument);
      } else if (node.kind === SyntaxKind.Identifier) {
        references.push({ identifier: node, from: node.getStart() });
      } else {
        node.forEachChild(visit);
      }
    };
    visit(statement);
    const symbols = checker.getSymbolAtLocation(references.map(({ identifier }) => identifier));
    for (const [index, { identifier, from }] of references.entries()) {
      const name = symbols[index] === undefined ? null : include(symbols[index]);
      if (name !== null) changes.push({ from, to: identifier.end, text: name });
    }
    let text = statement.getSourceFile().text.slice(0, statement.end);
    for (const { from, to, text: replacement } of changes.sort((one, other) => other.from - one.from))
      text = text.slice(0, from) + replacement + text.slice(to);
    return text.slice(statement.getStart(undefined, true));
  };

  const module = checker.getSymbolAtLocation(program.getSourceFile(entry));
  const exports = checker.getExportsOfModule(module).map((symbol) => {
    const name = include(symbol);
    return name === symbol.name ? name : `${name} as ${symbol.name}`;
  });
  // Iterating over a map includes entries that are added during the loop.
  for (const statement of statements.keys()) statements.set(statement, rewrite(statement));
  const imports = [...imported]
    .filter(([, symbols]) => symbols.size > 0)
    .map(([name, symbols]) => `import { ${[...symbols].sort().join(', ')} } from '${name}';`);
  return [...imports, ...statements.values(), `export { ${exports.join(', ')} };\n`].join('\n');
}

function unusedName(name, used) {
  let unused = name;
  for (let count = 1; used.includes(unused); count++) unused = `${name}$${count}`;
  return unused;
}

function ancestor(node, kind) {
  return node === undefined || node.kind === kind ? node : ancestor(node.parent, kind);
}

/** Returns the top-level statement of our files that is this declaration, or null. */
function topStatement(declaration) {
  const statement = declaration.kind === SyntaxKind.VariableDeclaration ? declaration.parent.parent : declaration;
  const isOurs = !statement.getSourceFile().fileName.includes('/node_modules/');
  return isOurs && statement.parent?.kind === SyntaxKind.SourceFile ? statement : null;
}

/** Writes out `z.infer<…>` and tables made of schemas, so that the schemas themselves are not included. */
const isOfZod = (node) =>
  (node.kind === SyntaxKind.TypeReference && /^z\.(infer|input|output)</.test(node.getText())) ||
  (node.kind === SyntaxKind.MappedType && node.getText().includes('typeof '));
