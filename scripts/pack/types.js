/** One `.d.ts` for each door of a package. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from '@typescript/typescript6';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

/**
 * The types of the machines, as one file that imports those of XState and zod. `zod/v4` is the same in zod 3.25 and 4; the
 * last argument of XState's `StateMachine` is its default, and XState before 5.33 does not know it.
 */
export async function rollMachineTypes(entry, file) {
  const text = await roll(entry, ['xstate', 'zod']);
  const compatible = text
    .replace("import { z } from 'zod';", "import { z } from 'zod/v4';")
    .replaceAll(/^\}, xstate\.MetaObject>;$/gm, '}>;');
  if (!compatible.includes("'zod/v4'") || /xstate\.MetaObject>;/.test(compatible))
    throw new Error(`${entry} names types of XState or zod in a way that is not known here`);
  put(file, withLibrary(compatible));
}

/**
 * The same without zod: what its types stand for is written out. So nobody needs zod to read them, and they pass where
 * the types of zod do not (`exactOptionalPropertyTypes` with `skipLibCheck: false`).
 */
export async function rollPlainTypes(entry, file) {
  // Beside the entry: from there TypeScript finds zod.
  const folder = mkdtempSync(join(dirname(entry), 'rolled-'));
  try {
    const rolled = join(folder, 'index.d.ts');
    put(rolled, await roll(entry, ['zod']));
    put(rolled, withoutZod(rolled));
    put(file, withLibrary(await roll(rolled, [])));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `Symbol.asyncDispose` is younger than the libraries that most projects name. */
const withLibrary = (text) =>
  text.includes('Symbol.asyncDispose') ? `/// <reference lib="esnext.disposable" />\n${text}` : text;

function put(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

async function roll(entry, external) {
  const onwarn = (warning) => {
    throw new Error(warning.message);
  };
  // Types of Node stand in files on the way, and in none that is left.
  const bundle = await rollup({
    input: entry,
    external: [...external, /^node:/],
    plugins: [declarations, dts()],
    onwarn,
  });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  const [{ code }] = output;
  if (/from 'node:/.test(code)) throw new Error(`the types of ${entry} need those of Node`);
  return code;
}

/** `tsc` leaves `./file.ts` in what it declares. */
const declarations = {
  name: 'declarations',
  resolveId: (source, importer) =>
    importer !== undefined && /^\..*(?<!\.d)\.ts$/.test(source)
      ? fileURLToPath(new URL(source.replace(/\.ts$/, '.d.ts'), `file://${importer}`))
      : null,
};

const print = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias;
const options = {
  strict: true,
  noEmit: true,
  types: [],
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
};

function withoutZod(file) {
  const program = ts.createProgram([file], options);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const found = [];
  const visit = (node) => {
    if (isOfZod(node, source)) {
      const text = checker.typeToString(checker.getTypeFromTypeNode(node), node, print);
      found.push({ from: node.getStart(source), to: node.end, text });
    } else if (!ts.isVariableStatement(node)) ts.forEachChild(node, visit);
  };
  visit(source);
  return found.reduceRight(
    (before, { from, to, text }) => before.slice(0, from) + text + before.slice(to),
    source.text,
  );
}

/** `z.infer<…>`, and a table made of schemas. Nothing names the schemas themselves then, so the next roll drops them. */
const isOfZod = (node, source) =>
  (ts.isTypeReferenceNode(node) && /^z\.(infer|input|output)$/.test(node.typeName.getText(source))) ||
  (ts.isMappedTypeNode(node) && node.getText(source).includes('typeof '));
