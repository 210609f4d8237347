/** What hooks want saved with their task. */
import { idLengthMax } from '../../values/id.ts';
import { fromJsonText, type JsonText } from '../../values/json-text.ts';

type Saved = Partial<Record<'executionPhase' | 'executionStep' | 'phase' | 'step', unknown>>;

/** The fields of its `checkpoint.saved`; phase and step also by seed 001's names (CheckpointData). */
export function checkpointOfHooks(attempt: string, data: JsonText | null) {
  const saved = data === null ? null : fromJsonText(data);
  const { executionPhase, executionStep, phase = executionPhase, step = executionStep } = (saved ?? {}) as Saved;
  return {
    checkpoint: `${attempt}-hooks`.slice(0, idLengthMax),
    context: saved,
    ...(typeof phase === 'string' ? { phase } : {}),
    ...(typeof step === 'string' || typeof step === 'number' ? { step } : {}),
  };
}
