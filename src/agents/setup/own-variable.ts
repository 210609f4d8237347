/**
 * Sets a variable in "env" of an agent's settings. A second variable beside it marks the value as ours, so that a value
 * of the user's is never taken for ours.
 */
import type { Node } from 'jsonc-parser';
import { append, childOf, parseJson, propertyOf, remove, SyntaxProblem } from './json-edit.ts';

export type OwnVariable = {
  readonly name: string;
  /** The variable that marks it. */
  readonly mark: string;
};

/** `value` undefined: none of ours is to stand there. @throws SyntaxProblem */
export function putVariable(text: string, variable: OwnVariable, value: string | undefined): string {
  const { name, mark } = variable;
  if (value !== undefined && valueIn(text, mark) === value && valueIn(text, name) === value) return text;
  const bare = takeVariable(text, variable) ?? '{}';
  if (value === undefined) return bare;
  const theirs = propertyOf(envOf(bare), name);
  if (theirs !== undefined) {
    if (String(childOf(theirs)?.value) === value) return bare;
    throw new SyntaxProblem(`${name} is set already, to something else: change it there`, theirs.offset);
  }
  if (envOf(bare) === undefined) return append(bare, parseJson(bare), 'env', { [name]: value, [mark]: value });
  return [name, mark].reduce((edited, key) => append(edited, envOf(edited) as Node, key, value), bare);
}

/** Null: nothing is left of the file. @throws SyntaxProblem */
export function takeVariable(text: string, { name, mark }: OwnVariable): string | null {
  const ours = valueIn(text, mark);
  if (ours === undefined) return text;
  // A value that was changed since is the user's.
  const keys = valueIn(text, name) === ours ? [mark, name] : [mark];
  return keys.reduce<string | null>((edited, key) => {
    const found = edited === null ? undefined : propertyOf(envOf(edited), key);
    return edited === null || found === undefined ? edited : remove(edited, found);
  }, text);
}

const valueIn = (text: string, key: string): unknown => childOf(propertyOf(envOf(text), key))?.value;

function envOf(text: string): Node | undefined {
  const env = childOf(propertyOf(parseJson(text), 'env'));
  if (env !== undefined && env.type !== 'object') throw new SyntaxProblem('"env" is not an object', env.offset);
  return env;
}
