/** Checkpoints: where a task can be taken up again, newest last. */
import type { TaskEntry } from '../entries/index.ts';

export type Checkpoint = {
  readonly checkpoint: string;
  readonly at: string;
  readonly phase: string | null;
  readonly step: string | number | null;
  readonly context: unknown;
};

const checkpointsMax = 50;

type Fields = Extract<TaskEntry, { type: 'checkpoint.saved' }>['data'];

export function addCheckpoint(checkpoints: readonly Checkpoint[], fields: Fields, at: string): readonly Checkpoint[] {
  const { checkpoint, phase, step, context } = fields;
  const added = { checkpoint, at, phase: phase ?? null, step: step ?? null, context: context ?? null };
  return [...checkpoints, added].slice(-checkpointsMax);
}

/** The phase is the last checkpoint's that named one. */
export const phaseOf = ({ checkpoints }: { readonly checkpoints: readonly Checkpoint[] }): string | null =>
  checkpoints.findLast((it) => it.phase !== null)?.phase ?? null;
