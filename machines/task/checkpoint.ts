/** Checkpoints: points at which work on a task can be resumed, newest last. */
import type { TaskEntry } from '../entries/index.ts';
import { type JsonText, toJsonText } from '../values/json-text.ts';

export type SavedCheckpoint = {
  readonly checkpoint: string;
  readonly at: string;
  readonly phase: string | null;
  readonly step: string | number | null;
  /** What it was saved with. */
  readonly context: JsonText;
};

const checkpointsMax = 50;

type Fields = Extract<TaskEntry, { type: 'checkpoint.saved' }>['data'];

export function addCheckpoint(
  checkpoints: readonly SavedCheckpoint[],
  fields: Fields,
  at: string,
): readonly SavedCheckpoint[] {
  const { checkpoint, phase, step, context } = fields;
  const added = { checkpoint, at, phase: phase ?? null, step: step ?? null, context: toJsonText(context) };
  return [...checkpoints, added].slice(-checkpointsMax);
}

/** The phase is the last checkpoint's that named one. */
export const phaseOf = ({ checkpoints }: { readonly checkpoints: readonly SavedCheckpoint[] }): string | null =>
  checkpoints.findLast((it) => it.phase !== null)?.phase ?? null;
