/**
 * Sets Claude Code's own cap of blocks in a row, in "env" of its settings. A second variable beside it marks the value as
 * ours, so that a value of the user's is never taken for ours.
 */
import type { Node } from 'jsonc-parser';
import { append, childOf, parseJson, propertyOf, remove, SyntaxProblem } from '../setup/json-edit.ts';

export const capVariable = 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP';
const mark = 'STOPGATE_BLOCK_CAP';

/** `cap` undefined: none of ours is to stand there. @throws SyntaxProblem */
export function putCap(text: string, cap: number | undefined): string {
  const value = String(cap);
  if (cap !== undefined && valueIn(text, mark) === value && valueIn(text, capVariable) === value) return text;
  const bare = takeCap(text) ?? '{}';
  if (cap === undefined) return bare;
  const theirs = propertyOf(envOf(bare), capVariable);
  if (theirs !== undefined) {
    if (String(childOf(theirs)?.value) === value) return bare;
    throw new SyntaxProblem(`${capVariable} is set already, to something else: change it there`, theirs.offset);
  }
  if (envOf(bare) === undefined) return append(bare, parseJson(bare), 'env', { [capVariable]: value, [mark]: value });
  return [capVariable, mark].reduce((edited, key) => append(edited, envOf(edited) as Node, key, value), bare);
}

/** Null: nothing is left of the file. @throws SyntaxProblem */
export function takeCap(text: string): string | null {
  const ours = valueIn(text, mark);
  if (ours === undefined) return text;
  // A value that was changed since is the user's.
  const keys = valueIn(text, capVariable) === ours ? [mark, capVariable] : [mark];
  return keys.reduce<string | null>((edited, key) => {
    const found = edited === null ? undefined : propertyOf(envOf(edited), key);
    return edited === null || found === undefined ? edited : remove(edited, found);
  }, text);
}

const valueIn = (text: string, key: string): unknown => childOf(propertyOf(envOf(text), key))?.value;

function envOf(text: string): Node | undefined {
  const env = childOf(propertyOf(parseJson(text), 'env'));
  if (env !== undefined && env.type !== 'object') throw new SyntaxProblem('"env" is no object', env.offset);
  return env;
}
