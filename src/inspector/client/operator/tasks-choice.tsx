/** What becomes of the tasks that were escalated with a worker: its resolution alone leaves them as they are. */
import { visible } from '../../visible-text.ts';
import { liveFleet } from '../data/connection.ts';
import { t } from '../data/row-fields.ts';
import { type TaskOfWorker, tasksShownWith } from '../inbox/find-waiting.ts';
import { namesOf } from './names.ts';
import type { Target } from './operator-actions.ts';

export function tasksEscalatedWith(targets: readonly Target[]): TaskOfWorker[] {
  const workers = new Set(targets.filter(({ entity }) => entity === 'worker').map(({ id }) => id));
  return tasksShownWith(liveFleet, workers);
}

const choices = [
  ['', 'Leave it escalated: it stays in the inbox', 'Leave them escalated: they stay in the inbox'],
  ['resume', 'Back to its queue: a worker may claim it', 'Back to their queues: workers may claim them'],
  ['stop', 'Cancel it', 'Cancel them'],
] as const;

/** `isOfMany`: tasks of several workers. */
type Props = { readonly tasks: readonly TaskOfWorker[]; readonly isOfMany: boolean };

export function TasksChoice({ tasks: [first, ...others], isOfMany }: Props) {
  if (first === undefined) return null;
  const title = liveFleet.tasks.get(first.id)?.[t.title] ?? '';
  return (
    <fieldset class="tasks-choice">
      <legend>
        {others.length > 0 ? 'Tasks ' : isOfMany ? 'Task ' : 'Its task '}
        {namesOf([first, ...others].map(({ id }) => id))}, escalated too
        {others.length === 0 && title !== '' && (
          <>
            : <bdi>{visible(title)}</bdi>
          </>
        )}
      </legend>
      {choices.map(([value, one, many]) => (
        <label key={value}>
          <input type="radio" name="tasks" value={value} defaultChecked={value === ''} />{' '}
          {others.length === 0 ? one : many}
        </label>
      ))}
    </fieldset>
  );
}
