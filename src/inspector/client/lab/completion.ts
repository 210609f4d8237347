/** Completes keys and values of stopgate.yaml by its JSON Schema. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { ensureSyntaxTree, syntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';

/** The subset of JSON Schema that is used here. */
export type Schema = {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
};

/** A key of a mapping, or null for an item of a list. */
type Step = string | null;
type Node = ReturnType<ReturnType<typeof syntaxTree>['resolveInner']>;

/** Maximum time for parsing. A few lines take one millisecond. */
const parseMs = 1_000;

/** Returns the path from the top of the file to the mapping that contains, or would contain, a key at `pos`. */
function pathOfKey(state: EditorState, pos: number): Step[] {
  const line = state.doc.lineAt(pos);
  if (line.text.trim() !== '') return climb(state, pos);
  // A blank line belongs to no mapping yet; its indentation decides.
  const above = lineAbove(state, line.number, pos - line.from);
  return above === null ? [] : climb(state, above);
}

/** Returns the path to the value of the key that ends at `pos`. */
const pathOfValue = (state: EditorState, pos: number): Step[] => climb(state, pos, true);

/** @param own whether to include the key at `pos` itself */
function climb(state: EditorState, pos: number, own = false): Step[] {
  const steps: Step[] = [];
  const tree = ensureSyntaxTree(state, pos, parseMs) ?? syntaxTree(state);
  let node: Node | null = tree.resolveInner(pos, -1);
  for (let below: Node | null = null; node !== null; below = node, node = node.parent) {
    if (node.name === 'Item') steps.unshift(null);
    if (node.name !== 'Pair' || (below?.name === 'Key' && !own)) continue;
    const key = node.getChild('Key');
    if (key !== null) steps.unshift(unquote(state.sliceDoc(key.from, key.to)));
  }
  return steps;
}

/** Finds a position in the mapping that a line of this indentation belongs to, or null. */
function lineAbove({ doc }: EditorState, lineNumber: number, indent: number): number | null {
  for (let number = lineNumber - 1; number > 0; number -= 1) {
    const { text, from, to } = doc.line(number);
    if (text.trim() === '' || text.trimStart().startsWith('#')) continue;
    const column = /^ *(?:- +)*/.exec(text)?.[0].length ?? 0;
    if (column <= indent) return column === indent ? from + column + 1 : to;
  }
  return null;
}

const unquote = (key: string): string => key.replace(/^(['"])(.*)\1$/, '$2');

/** Returns all schemas that may apply at a path, with `$ref` and `anyOf` resolved. */
function schemasAt(root: Schema, path: readonly Step[]): Schema[] {
  return path.reduce<Schema[]>(
    (found, step) => found.flatMap((schema) => below(schema, step)).flatMap((schema) => alternatives(root, schema)),
    alternatives(root, root),
  );
}

function below({ properties, additionalProperties, items }: Schema, step: Step): Schema[] {
  if (step === null) return items === undefined ? [] : [items];
  const known = properties?.[step];
  if (known !== undefined) return [known];
  return typeof additionalProperties === 'object' ? [additionalProperties] : [];
}

function alternatives(root: Schema, schema: Schema): Schema[] {
  const { $ref, anyOf } = schema;
  const target = $ref === undefined ? undefined : root.$defs?.[$ref.replace('#/$defs/', '')];
  if (target !== undefined) return alternatives(root, target);
  return anyOf === undefined
    ? [schema]
    : anyOf.flatMap((branch) => alternatives(root, branch)).map((branch) => describeAs(branch, schema));
}

const describeAs = (branch: Schema, { description }: Schema): Schema =>
  branch.description === undefined && description !== undefined ? { ...branch, description } : branch;

const keyPlace = /(?:^\s*(?:- +)*|[{,] *)([\w-]*)$/;
const valuePlace = /([\w-]+): +([\w-]*)$/;

/** The keys of stopgate.yaml that affect a comparison. */
const topLevel: ReadonlySet<string> = new Set([
  'policies',
  'strict',
  'assign',
  'budget',
  'releaseAfter',
  'forget',
  'escalation',
]);

export const completeFrom =
  (root: Schema) =>
  (context: CompletionContext): CompletionResult | null => {
    const { state, pos } = context;
    const line = state.doc.lineAt(pos);
    const before = line.text.slice(0, pos - line.from);
    if (/(^|\s)#/.test(before)) return null;
    const [, typedKey] = keyPlace.exec(before) ?? [];
    const value = valuePlace.exec(before);
    const typed = typedKey ?? value?.[2];
    if (typed === undefined || (typed === '' && !context.explicit)) return null;
    const path =
      typedKey === undefined
        ? pathOfValue(state, line.from + (value?.index ?? 0) + (value?.[1]?.length ?? 0))
        : pathOfKey(state, pos);
    const schemas = schemasAt(root, path);
    const options =
      typedKey === undefined ? valuesOf(schemas) : [...keysOf(schemas, path.length === 0), ...valuesOf(schemas)];
    return options.length === 0 ? null : { from: pos - typed.length, options, validFor: /^[\w-]*$/ };
  };

function keysOf(schemas: readonly Schema[], isTop: boolean): Completion[] {
  const keys = new Map<string, Schema>();
  for (const { properties = {} } of schemas)
    for (const [key, schema] of Object.entries(properties)) if (!isTop || topLevel.has(key)) keys.set(key, schema);
  return [...keys].map(([label, { description }]) => ({
    label,
    apply: `${label}: `,
    type: 'property',
    ...(description === undefined ? {} : { info: description }),
  }));
}

function valuesOf(schemas: readonly Schema[]): Completion[] {
  const values = schemas.flatMap((schema): unknown[] => {
    if (schema.enum !== undefined) return [...schema.enum];
    if (schema.const !== undefined) return [schema.const];
    return schema.type === 'boolean' ? [true, false] : schema.type === 'null' ? [null] : [];
  });
  return [...new Set(values.map(String))].map((label) => ({ label, type: 'enum' }));
}
