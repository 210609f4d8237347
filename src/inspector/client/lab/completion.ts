/** Completes keys and values of stopgate.yaml by its JSON Schema. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { pathOfKey, pathOfValue, type Schema, schemasAt } from './schema-at.ts';

const keyPlace = /(?:^\s*(?:- +)*|[{,] *)([\w-]*)$/;
const valuePlace = /([\w-]+): +([\w-]*)$/;

/** Other parts of stopgate.yaml have no say in a comparison. */
const topLevel: ReadonlySet<string> = new Set(['policies', 'strict', 'assign', 'budget', 'releaseAfter', 'forget']);

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
    ...{ label, apply: `${label}: `, type: 'property' },
    ...(description === undefined ? {} : { info: description }),
  }));
}

function valuesOf(schemas: readonly Schema[]): Completion[] {
  const values = schemas.flatMap((it): unknown[] => {
    if (it.enum !== undefined) return [...it.enum];
    if (it.const !== undefined) return [it.const];
    return it.type === 'boolean' ? [true, false] : it.type === 'null' ? [null] : [];
  });
  return [...new Set(values.map(String))].map((label) => ({ label, type: 'enum' }));
}
