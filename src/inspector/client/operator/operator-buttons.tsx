/** The operator's actions on one actor, as buttons: those that make sense in its present state. */
import type { WorkerView } from '../../../../machines/index.ts';
import { isPast } from '../data/past.ts';
import { actionTexts, type OperatorAction, requestAction } from './operator-actions.ts';

type Props = {
  readonly entity: 'worker' | 'task';
  readonly id: string;
  readonly escalation: WorkerView['escalation'];
  /** It can be retired no more, or never could. */
  readonly ended: boolean;
};

const keys: Readonly<Partial<Record<OperatorAction, string>>> = { acknowledge: 'a', resume: 'r', stop: 's' };

export function OperatorButtons({ entity, id, escalation, ended }: Props) {
  if (isPast.value) return null;
  const actions: OperatorAction[] = [];
  if (escalation !== null) {
    if (escalation.acknowledgedBy === null) actions.push('acknowledge');
    actions.push('resume', 'stop');
  }
  if (entity === 'worker' && !ended) actions.push('retire');
  if (actions.length === 0) return null;
  return (
    <p class={escalation === null ? 'buttons' : 'buttons actions'}>
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          data-action={action}
          class={action === 'resume' ? 'primary' : ''}
          aria-keyshortcuts={keys[action]}
          title={keys[action] === undefined ? undefined : `Key ${keys[action]}`}
          onClick={() => requestAction({ action, targets: [{ entity, id }] })}
        >
          {actionTexts[action].button}
        </button>
      ))}
    </p>
  );
}
