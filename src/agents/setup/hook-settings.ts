/** Adds our hooks to the text of an agent's JSON settings, finds them and removes them. Pure. */
import { getNodeValue, type Node } from 'jsonc-parser';
import { append, childOf, parseJson, propertyOf, remove, render, SyntaxProblem } from './json-edit.ts';

/** Where an agent's JSON settings hold hooks. */
export type HookLayout = {
  /** The property that holds them, or null for the top level of the file. Default: `hooks`. */
  readonly under?: string | null | undefined;
  /** True for a single list whose items name their event as `trigger`, instead of a list for each event. */
  readonly isList?: boolean | undefined;
};

/** The hooks to write into the settings. */
export type HookSettings = HookLayout & {
  readonly events: readonly (readonly [event: string, handler: object])[];
  /** True if each handler is wrapped in `{ "hooks": [ … ] }`. */
  readonly grouped: boolean;
  /** Properties next to `hooks` in a file that we create. */
  readonly head: object;
  readonly isOurs: (handler: Readonly<Record<string, unknown>>) => boolean;
};

/**
 * Adds hooks to the text of an agent's settings, finds them and removes them. Every function may throw SyntaxProblem.
 */
export type HookFormat = {
  /** @param text null if the file does not exist */
  readonly put: (text: string | null, settings: HookSettings) => string;
  /** Returns null if nothing is left of a file that we created. */
  readonly remove: (text: string, settings: HookSettings) => string | null;
  /** Returns all hooks, not only ours. */
  readonly read: (text: string) => FoundHook[];
  /** Reads the settings at a path. Null if there are none. Default: the text of the file. */
  readonly load?: (path: string) => string | null;
};

export const jsonHooks = (layout: HookLayout = {}): HookFormat => ({
  put: (text, settings) => putHooks(text, { ...settings, ...layout }),
  remove: (text, settings) => removeHooks(text, { ...settings, ...layout }),
  read: (text) => readHooks(text, layout),
});

/** @param text null if the file does not exist. @throws SyntaxProblem */
function putHooks(text: string | null, settings: HookSettings): string {
  if (text !== null && isInPlace(text, settings)) return text;
  // Hooks of an earlier run may differ, so remove them first.
  const bare = text === null ? null : removeHooks(text, settings);
  const { under = 'hooks' } = settings;
  const all = allEntries(settings);
  if (bare === null) return render({ ...settings.head, ...(under === null ? all : { [under]: all }) });
  return withBom(bare, (json) => {
    if (under !== null && hooksIn(json, settings) === undefined) return append(json, parseJson(json), under, all);
    let edited = json;
    for (const [event, handler] of settings.events) {
      const hooks = hooksIn(edited, settings) as Node;
      const list = settings.isList ? hooks : childOf(propertyOf(hooks, event));
      const entry = entryOf(handler, settings);
      edited = list === undefined ? append(edited, hooks, event, [entry]) : append(edited, list, null, entry);
    }
    return edited;
  });
}

function allEntries(settings: HookSettings): object {
  if (settings.isList) return settings.events.map(([, handler]) => handler);
  const entries = new Map<string, object[]>();
  for (const [event, handler] of settings.events)
    entries.set(event, [...(entries.get(event) ?? []), entryOf(handler, settings)]);
  return Object.fromEntries(entries);
}

/** Returns null if nothing is left of a file that we created. @throws SyntaxProblem */
function removeHooks(text: string, settings: HookSettings): string | null {
  let edited: string | null = text.replace(/^\uFEFF/, '');
  while (edited !== null) {
    // Remove from the end: the first hook that we added is next to the space that json-edit.ts left as a mark.
    const found = handlersIn(edited, settings).findLast(({ value }) => settings.isOurs(value));
    if (found === undefined) break;
    const isAlone = found.node !== found.entry && (found.node.parent?.children?.length ?? 0) === 1;
    edited = remove(edited, isAlone ? found.entry : found.node);
  }
  if (edited === null || edited === render(settings.head)) return null;
  return text.startsWith('\uFEFF') ? `\uFEFF${edited}` : edited;
}

export type FoundHook = { readonly event: string; readonly value: Readonly<Record<string, unknown>> };

/** Returns all hooks, not only ours. @throws SyntaxProblem */
export const readHooks = (text: string, layout: HookLayout = {}): FoundHook[] =>
  handlersIn(text.replace(/^\uFEFF/, ''), layout).map(({ event, value }) => ({ event, value }));

function isInPlace(text: string, { events, isOurs, ...layout }: HookSettings): boolean {
  const ours = readHooks(text, layout).filter(({ value }) => isOurs(value));
  const written = new Set(ours.map(({ event, value }) => JSON.stringify([event, value])));
  return ours.length === events.length && events.every((hook) => written.has(JSON.stringify(hook)));
}

const entryOf = (handler: object, { grouped }: HookSettings): object => (grouped ? { hooks: [handler] } : handler);

type Handler = FoundHook & {
  readonly node: Node;
  /** The item of the event's list that contains the handler. Without groups, the handler itself. */
  readonly entry: Node;
};

function handlersIn(text: string, layout: HookLayout): Handler[] {
  const hooks = hooksIn(text, layout);
  const children = hooks?.children ?? [];
  if (layout.isList)
    return children
      .filter(({ type }) => type === 'object')
      .map((node) => ({
        event: String(childOf(propertyOf(node, 'trigger'))?.value),
        node,
        entry: node,
        value: readNode(node),
      }));
  return children.flatMap((property) => {
    const event = String(property.children?.[0]?.value);
    const list = childOf(propertyOf(hooks, event));
    if (list === undefined || list.type !== 'array') {
      // Next to other settings, anything but a list is not about hooks.
      if (layout.under === null || event === 'enabled') return [];
      const name = `${layout.under ?? 'hooks'}.${event}`;
      throw new SyntaxProblem(`"${name}" is not a list`, list?.offset ?? property.offset);
    }
    return (list.children ?? []).flatMap((entry) => {
      const inner = entry.type === 'object' ? childOf(propertyOf(entry, 'hooks')) : undefined;
      const nodes = inner?.type === 'array' ? (inner.children ?? []) : [entry];
      return nodes
        .filter(({ type }) => type === 'object')
        .map((node) => ({ event, node, entry, value: readNode(node) }));
    });
  });
}

const readNode = (node: Node): Record<string, unknown> => getNodeValue(node) as Record<string, unknown>;

/** The node that holds the hooks. @throws SyntaxProblem if it has another type */
function hooksIn(text: string, { under = 'hooks', isList = false }: HookLayout): Node | undefined {
  const root = parseJson(text);
  if (root.type !== 'object') throw new SyntaxProblem('it is not a JSON object', root.offset);
  const hooks = under === null ? root : childOf(propertyOf(root, under));
  const type = isList ? 'array' : 'object';
  if (hooks === undefined || hooks.type === type) return hooks;
  throw new SyntaxProblem(`"${under}" is not ${isList ? 'a list' : 'an object'}`, hooks.offset);
}

/** Edits the JSON after a byte order mark, if there is one. Passes on null if the edit leaves nothing. */
export function withBom<Edited extends string | null>(text: string, edit: (json: string) => Edited): string | Edited {
  if (!text.startsWith('\uFEFF')) return edit(text);
  const edited = edit(text.slice(1));
  return edited === null ? edited : `\uFEFF${edited}`;
}

/**
 * A variable that we set in "env" of an agent's settings. A second variable repeats the value and marks it as ours, so
 * that we never change a value of the user's.
 */
export type OwnVariable = {
  readonly name: string;
  /** The variable that marks the value as ours. */
  readonly mark: string;
};

/** @param value undefined removes our variable. @throws SyntaxProblem */
export function putVariable(text: string, variable: OwnVariable, value: string | undefined): string {
  const { name, mark } = variable;
  if (value !== undefined && valueIn(text, mark) === value && valueIn(text, name) === value) return text;
  const bare = removeVariable(text, variable) ?? '{}';
  if (value === undefined) return bare;
  const theirs = propertyOf(envOf(bare), name);
  if (theirs !== undefined) {
    if (String(childOf(theirs)?.value) === value) return bare;
    throw new SyntaxProblem(`${name} is already set to a different value; change it there`, theirs.offset);
  }
  if (envOf(bare) === undefined) return append(bare, parseJson(bare), 'env', { [name]: value, [mark]: value });
  return [name, mark].reduce((edited, key) => append(edited, envOf(edited) as Node, key, value), bare);
}

/** Returns null if the file would be empty. @throws SyntaxProblem */
export function removeVariable(text: string, { name, mark }: OwnVariable): string | null {
  const ours = valueIn(text, mark);
  if (ours === undefined) return text;
  // A value that was changed since then is the user's.
  const keys = valueIn(text, name) === ours ? [mark, name] : [mark];
  return keys.reduce<string | null>((edited, key) => {
    const found = edited === null ? undefined : propertyOf(envOf(edited), key);
    return edited === null || found === undefined ? edited : remove(edited, found);
  }, text);
}

export const valueIn = (text: string, key: string): unknown => childOf(propertyOf(envOf(text), key))?.value;

function envOf(text: string): Node | undefined {
  const env = childOf(propertyOf(parseJson(text), 'env'));
  if (env !== undefined && env.type !== 'object') throw new SyntaxProblem('"env" is not an object', env.offset);
  return env;
}
