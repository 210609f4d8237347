/**
 * The form to answer an escalation: a suggestion or a free text, for one worker or all that ask the same, and what
 * happens to the task. A task without a worker is requeued or cancelled. Answers can be undone for ten seconds
 * (inbox/unsent.ts).
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BudgetLine } from '../../../../machines/index.ts';
import { operatorNameLengthMax } from '../../../../machines/values/limits.ts';
import { liveFleet } from '../data/connection.ts';
import { tasksShownWith } from '../inbox/find-waiting.ts';
import { snoozeOne } from '../inbox/inbox-keys.ts';
import { focusField, wantedField } from '../inbox/open-item.ts';
import { answeredKeys, draftOf, giveAnswer, isSent } from '../inbox/unsent.ts';
import { alikeOf, questionOf, type SnoozeLength, snoozeLengths, type Waiting, waitingKey } from '../inbox/waiting.ts';
import { Button, Submit } from '../ui/controls.tsx';
import { Text } from '../ui/text.tsx';
import { defaultText, formOf, readGrant, unitOf, whyOver } from './grant.ts';
import { operatorName } from './operator-actions.ts';
import { budgetNote, isOverBudget } from './operator-dialog.tsx';
import type { TasksVerdict } from './settle.ts';
import { namesOf } from './suggestions.ts';

/** One choice for each of the keys 1 to 3. More would push the text field off the screen. */
const choicesMax = 3;

/** For workers only. `choices` are suggested prompts. `over`: the used-up limit of its budget that it waits for. */
type Props = { readonly item: Waiting; readonly choices?: readonly string[]; readonly over?: BudgetLine | null };

export const AnswerBox = (props: Props) =>
  answeredKeys.value.has(waitingKey(props.item)) ? (
    <p class="muted">
      You have answered.{' '}
      {isSent(waitingKey(props.item)) ? 'The answer is sent.' : 'The answer is sent in a few seconds.'}
    </p>
  ) : (
    <AnswerForm {...props} />
  );

function AnswerForm({ item, choices = [], over = null }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const alike = alikeOf(item);
  const question = questionOf(item);
  const isTask = item.entity === 'task';
  // Tasks with equal reasons may still need different answers.
  const [isForAll, setForAll] = useState(!isTask);
  const isMany = alike.length > 1 && isForAll;
  const tasks = isTask ? [] : tasksShownWith(liveFleet, new Set([item.id]));
  useEffect(() => {
    const wanted = wantedField.value;
    if (wanted === null) return;
    wantedField.value = null;
    if (wanted.key === waitingKey(item) && form.current !== null) focusField(form.current, wanted.field);
  }, [wantedField.value]);
  const answer = (action: 'resume' | 'stop') => {
    if (form.current === null) return;
    if (action === 'resume' && over !== null && !form.current.reportValidity()) return;
    const given = new FormData(form.current);
    const targets = isForAll ? alike : [item];
    const verdict = given.get('tasks');
    const workers = new Set(targets.map(({ id }) => id));
    const also: TasksVerdict | undefined =
      verdict === 'resume' || verdict === 'stop' ? { verdict, tasks: tasksShownWith(liveFleet, workers) } : undefined;
    giveAnswer(form.current, {
      request: { action, targets },
      prompt: String(given.get('answer') ?? ''),
      also,
      question,
      grant: over === null ? null : readGrant(over, String(given.get('grant') ?? '')),
    });
  };
  const take = (text: string) => {
    if (field.current === null) return;
    field.current.value = text;
    field.current.focus();
  };
  return (
    <form
      ref={form}
      class="answer-box"
      data-answers={waitingKey(item)}
      aria-label={`Answer ${item.id}`}
      onSubmit={(event) => {
        event.preventDefault();
        answer('resume');
      }}
    >
      {over !== null && <GrantField line={over} />}
      <Choices choices={choices.slice(0, choicesMax)} take={take} />
      {!isTask && (
        <textarea
          ref={field}
          name="answer"
          rows={2}
          defaultValue={draftOf(waitingKey(item), question)}
          maxLength={20_000}
          aria-label={`Answer to ${item.id}: its next prompt`}
          placeholder="Your answer: the agent’s next prompt"
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            answer('resume');
          }}
        />
      )}
      {alike.length > 1 && (
        <label>
          <input type="checkbox" checked={isForAll} onChange={() => setForAll(!isForAll)} /> Send the same answer to all{' '}
          {alike.length} {isTask ? 'that were escalated for this' : 'with this question and failure'}
        </label>
      )}
      <TasksField tasks={tasks.map(({ id }) => id)} />
      {over === null && isOverBudget(item) && <p class="muted">{budgetNote}</p>}
      <NameField />
      <p class="row buttons">
        <Submit title={isTask ? 'Key 1' : 'Enter'} data-answer={isTask ? 1 : undefined}>
          {isTask && <kbd>1</kbd>}
          {isTask ? `Back to ${isMany ? 'their queues' : 'its queue'}` : over === null ? 'Send' : 'Grant'}
        </Submit>
        <Button data-action="stop" aria-keyshortcuts="s" title="Key s" onClick={() => answer('stop')}>
          {isTask ? 'Cancel' : 'Let'} {isMany ? 'them' : 'it'} {!isTask && 'stop'}
        </Button>
        <SnoozeField item={item} />
        <span class="muted">You can undo it for 10 s.</span>
      </p>
    </form>
  );
}

/** Why it is over its budget, and how much more it gets. Without a change, it gets what is configured. */
const GrantField = ({ line }: { line: BudgetLine }) => (
  <>
    <p class="over">{whyOver(line)}</p>
    <label>
      Grant
      <input
        name="grant"
        class="amount"
        required
        defaultValue={defaultText(line)}
        {...formOf(line)}
        inputMode={line.kind === 'time' ? 'text' : 'decimal'}
        autoComplete="off"
        aria-label={`How much to grant, in ${line.kind}`}
        aria-keyshortcuts="g"
        onFocus={(event) => event.currentTarget.select()}
      />
      {unitOf(line)} more, counted from now <kbd>g</kbd>
    </label>
  </>
);

/** Asks for the operator's name once; it is stored in this browser. */
export const NameField = () =>
  operatorName() === '' ? (
    <input
      name="by"
      required
      maxLength={operatorNameLengthMax}
      autoComplete="name"
      aria-label="Who answers"
      placeholder="Your name (stored with the answer)"
    />
  ) : null;

type ChoicesProps = { readonly choices: readonly string[]; readonly take: (text: string) => void };

const Choices = ({ choices, take }: ChoicesProps) => (
  <>
    {choices.map((text, index) => (
      <label key={text} class="choice">
        <input type="radio" name="choice" data-answer={index + 1} onClick={() => take(text)} />
        <kbd>{index + 1}</kbd>
        <Text value={text} max={200} />
      </label>
    ))}
  </>
);

/** Asks what happens to the escalated tasks. A task that stays escalated becomes a separate inbox item. */
const TasksField = ({ tasks }: { tasks: readonly string[] }) =>
  tasks.length === 0 ? null : (
    <span class="tasks-field">
      {tasks.length === 1 ? 'Its task' : 'Its tasks'} {namesOf(tasks)}:{' '}
      <select name="tasks" aria-label={`What happens to ${namesOf(tasks)}`}>
        <option value="resume">goes back to its queue</option>
        <option value="stop">is cancelled</option>
        <option value="">stays escalated, as a separate item</option>
      </select>
    </span>
  );

export const SnoozeField = ({ item }: { item: Waiting }) => (
  <select
    aria-label="Snooze"
    value=""
    onChange={(event) => {
      const { value } = event.currentTarget;
      if (value !== '') snoozeOne(item, value as SnoozeLength);
    }}
  >
    <option value="">Snooze…</option>
    {Object.entries(snoozeLengths).map(([length, text]) => (
      <option key={length} value={length}>
        {text}
      </option>
    ))}
  </select>
);
