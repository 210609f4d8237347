/** The dialog that confirms an operator's action and asks for the operator's name and a prompt for the agent. */
import { useState } from 'preact/hooks';
import { operatorNameLengthMax } from '../../../../machines/values/limits.ts';
import { visible } from '../../visible-text.ts';
import { liveFleet } from '../data/connection.ts';
import { type TaskOfWorker, tasksShownWith } from '../inbox/find-waiting.ts';
import { questionOf } from '../inbox/waiting.ts';
import { Button, Dialog, Form, Problem, Submit } from '../ui/controls.tsx';
import { plural } from '../ui/format.ts';
import { Text } from '../ui/text.tsx';
import {
  type ActionDetails,
  type ActionRequest,
  actionTexts,
  isUnauthorized,
  operatorName,
  pendingAction,
  performAction,
  rememberName,
  type Target,
} from './operator-actions.ts';
import { PauseChoice } from './pause.tsx';
import { readPauseLength } from './pause-length.ts';
import { effectsOf, type TasksVerdict } from './settle.ts';
import { requestSignIn } from './sign-in.tsx';
import { namesOf } from './suggestions.ts';

/** Finds the tasks escalated with these workers. Resolving a worker does not resolve its tasks. */
function tasksEscalatedWith(targets: readonly Target[]): TaskOfWorker[] {
  const workers = new Set(targets.filter(({ entity }) => entity === 'worker').map(({ id }) => id));
  return tasksShownWith(liveFleet, workers);
}

const choices = [
  ['', 'Leave it escalated: it stays in the inbox', 'Leave them escalated: they stay in the inbox'],
  ['resume', 'Back to its queue: a worker may claim it', 'Back to their queues: workers may claim them'],
  ['stop', 'Cancel it', 'Cancel them'],
] as const;

/** `isOfMany`: the tasks belong to several workers. */
type Props = { readonly tasks: readonly TaskOfWorker[]; readonly isOfMany: boolean };

function TasksChoice({ tasks: [first, ...others], isOfMany }: Props) {
  if (first === undefined) return null;
  const title = liveFleet.tasks.get(first.id)?.title ?? '';
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
          <input type="radio" name="tasks" value={value} defaultChecked={value === 'resume'} />{' '}
          {others.length === 0 ? one : many}
        </label>
      ))}
    </fieldset>
  );
}

/** Whether a worker was escalated because its budget was used up. It may have been raised since. */
export const isOverBudget = ({ entity, id }: Target): boolean =>
  entity === 'worker' && liveFleet.workers.get(id)?.escalatedFor === 'budget';

/** The effect of an answer on the budget. */
export const budgetNote = 'Its budget was used up when it tried to stop. An answer grants the same budget again.';

export function OperatorDialog() {
  const request = pendingAction.value;
  return request === null ? null : <Confirmation key={keyOf(request)} request={request} />;
}

const keyOf = ({ action, targets }: ActionRequest) => [action, ...targets.map(({ id }) => id)].join();

function Confirmation({ request }: { request: ActionRequest }) {
  const { left, send, busy, problem, refuse, close } = useSend(request);
  const { action, targets, tasks: leftTasks = [] } = left;
  const suggestions = action === 'resume' ? (left.suggestions ?? []) : [];
  const [prompt, setPrompt] = useState('');
  const { title } = actionTexts[action];
  const isForTasks = targets.every(({ entity }) => entity === 'task');
  const tasks = action === 'resume' || action === 'stop' ? [...leftTasks, ...tasksEscalatedWith(targets)] : [];
  const submit = (fields: FormData) => {
    const by = String(fields.get('by'));
    rememberName(by);
    const forMs = readPauseLength(String(fields.get('length')), String(fields.get('typed') ?? ''));
    if (action === 'pause' && forMs === undefined) {
      refuse('Enter a duration such as 45m, 3h or 2d, at most 7d.');
      return;
    }
    const verdict = fields.get('tasks');
    const also: TasksVerdict | undefined = verdict === 'resume' || verdict === 'stop' ? { verdict, tasks } : undefined;
    void send(by, { prompt: String(fields.get('prompt') ?? ''), forMs: forMs ?? null }, also);
  };
  return (
    <Dialog title={`${title} ${describe(targets)}`} close={close}>
      <Form
        method="dialog"
        submit={submit}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
        }}
      >
        {effectsOf(action, targets).map((text) => (
          <p key={text}>{text}</p>
        ))}
        {action === 'resume' && targets.some(isOverBudget) && <p>{budgetNote}</p>}
        <Questions targets={targets} />
        {action === 'resume' && !isForTasks && (
          <PromptField
            label={targets.length === 1 ? 'Prompt for the agent' : 'Prompt for the agents'}
            prompt={prompt}
            setPrompt={setPrompt}
            suggestions={suggestions}
          />
        )}
        {action === 'pause' && <PauseChoice />}
        <TasksChoice tasks={tasks} isOfMany={targets.length > 1 || leftTasks.length > 0} />
        <label>
          Your name (stored with the entry)
          <input
            required
            name="by"
            defaultValue={operatorName()}
            maxLength={operatorNameLengthMax}
            autoComplete="name"
          />
        </label>
        <Problem text={problem} />
        <p class="row buttons">
          <Submit disabled={busy}>{title}</Submit>
          <Button onClick={close}>Cancel</Button>
        </p>
      </Form>
    </Dialog>
  );
}

function describe(targets: ActionRequest['targets']): string {
  const [only] = targets;
  if (targets.length !== 1 || only === undefined) {
    const [entity, other] = new Set(targets.map((target) => target.entity));
    return entity === undefined || other !== undefined ? `${targets.length} at once` : plural(targets.length, entity);
  }
  return `${only.entity} ${only.id}`;
}

/** More questions would push the buttons off the screen. */
const questionsMax = 5;

/** Lists each question with those that ask it, because the dialog covers them. */
function Questions({ targets }: Pick<ActionRequest, 'targets'>) {
  const asking = new Map<string, string[]>();
  for (const { entity, id } of targets) {
    const question = entity === 'queue' ? '' : questionOf({ entity, id });
    asking.set(question, [...(asking.get(question) ?? []), id]);
  }
  const left = asking.size - questionsMax;
  return (
    <ul class="plain asked">
      {[...asking].slice(0, questionsMax).map(([question, ids]) => (
        <li key={question}>
          {targets.length > 1 && <span class="muted">{namesOf(ids)} </span>}
          <Text value={question} max={300} />
        </li>
      ))}
      {left > 0 && <li class="muted">and {plural(left, 'more question', 'more questions')}</li>}
    </ul>
  );
}

type PromptFieldProps = {
  readonly label: string;
  readonly prompt: string;
  readonly setPrompt: (prompt: string) => void;
  readonly suggestions: readonly string[];
};

const PromptField = ({ label, prompt, setPrompt, suggestions }: PromptFieldProps) => (
  <>
    <label>
      {label} (optional)
      <textarea
        name="prompt"
        rows={4}
        value={prompt}
        maxLength={20_000}
        onInput={(event) => setPrompt(event.currentTarget.value)}
      />
    </label>
    {suggestions.length > 0 && (
      <fieldset class="suggestions">
        <legend>Suggestions</legend>
        {suggestions.map((suggestion) => (
          <Button key={suggestion} aria-pressed={prompt === suggestion} onClick={() => setPrompt(suggestion)}>
            {visible(suggestion)}
          </Button>
        ))}
      </fieldset>
    )}
  </>
);

/** `left` is the request, or the part of it that failed and can be retried. */
function useSend(request: ActionRequest) {
  const [left, setLeft] = useState(request);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const close = () => {
    pendingAction.value = null;
  };
  const send = async (by: string, details: ActionDetails, also?: TasksVerdict) => {
    setBusy(true);
    const outcome = await performAction(left, by, details, also);
    const again = outcome.left;
    if (again === null) {
      close();
      // The button that was pressed may no longer exist.
      requestAnimationFrame(() => document.querySelector<HTMLElement>('aside h2')?.focus({ preventScroll: true }));
      return;
    }
    setBusy(false);
    setProblem(outcome.text);
    setLeft(again);
    // The sign-in opens over this dialog, which keeps its input.
    if (isUnauthorized(outcome.problem)) requestSignIn(() => setProblem(null));
  };
  return { left, send, busy, problem, refuse: setProblem, close };
}
