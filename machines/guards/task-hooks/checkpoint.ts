/** What hooks want saved with their task. */
import { idLengthMax } from '../../values/id.ts';
import { fromJsonText, type JsonText } from '../../values/json-text.ts';

type Saved = Partial<
  Record<'executionPhase' | 'executionStep' | 'agentContext' | 'phase' | 'step' | 'context', unknown>
>;

/** The fields of its `checkpoint.saved`, also by seed 001's names (CheckpointData). Data without a context is one itself. */
export function checkpointOfHooks(attempt: string, data: JsonText | null) {
  const saved = data === null ? null : fromJsonText(data);
  const fields = (saved ?? {}) as Saved;
  const { phase = fields.executionPhase, step = fields.executionStep, context = fields.agentContext } = fields;
  return {
    checkpoint: `${attempt}-hooks`.slice(0, idLengthMax),
    context: context === undefined ? saved : context,
    ...(typeof phase === 'string' ? { phase } : {}),
    ...(typeof step === 'string' || typeof step === 'number' ? { step } : {}),
  };
}
