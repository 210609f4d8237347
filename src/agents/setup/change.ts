/** A change of one file, planned before anything is touched. */
import { AppError } from '../../errors.ts';
import { positionOf, SyntaxProblem } from './json-edit.ts';
import type { SettingsFile } from './settings-file.ts';

/** `after` null: the file is removed, or not created. */
export type Change = { readonly file: SettingsFile; readonly after: string | null };

/** @throws AppError input.bad: where `edit` finds a SyntaxProblem */
export function planEdit(file: SettingsFile, edit: (text: string | null) => string | null): Change {
  try {
    return { file, after: edit(file.text) };
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const { line, column } = positionOf(file.text ?? '', error.offset);
    throw new AppError('input.bad', `${file.path}:${line}:${column}: ${error.message}; nothing was changed`);
  }
}
