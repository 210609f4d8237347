/** Requests of an agent to a person (permissions and questions), with forms to answer them. */

import { useComputed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { WorkerView } from '../../../../machines/index.ts';
import {
  type Choice,
  type Question,
  readFields,
  readQuestions,
  toMessage,
} from '../../../../machines/values/questions.ts';
import { get } from '../data/api.ts';
import { isPast, shownMs } from '../data/past.ts';
import { answeredRequests, giveAnswer } from '../inbox/unsent.ts';
import { alikeOf, waitingKey } from '../inbox/waiting.ts';
import { Button, Form, Submit } from '../ui/controls.tsx';
import { keepOrder, type Placed } from '../ui/keep-order.ts';
import { Ago, Left, Text } from '../ui/text.tsx';
import { hasMouse } from '../ui/use-held.ts';
import { NameField, SnoozeField } from './answer-box.tsx';
import type { OperatorAction, Target } from './operator-actions.ts';

type InputRequest = WorkerView['inputs'][number];
/** A request that keeps its place, so that the buttons of others do not move. If `isGone`, it no longer waits. */
type PlacedRequest = Placed & { readonly input: InputRequest };

/** How many gone requests to keep in place. Needed on phones, where nothing tells when the finger has left. */
const goneMax = 12;

/** @param open the waiting requests @param isUsed whether someone points at them; ignored in the past */
function useStableOrder(open: readonly InputRequest[], isUsed: boolean): readonly PlacedRequest[] {
  const places = useRef<readonly PlacedRequest[]>([]);
  const known = new Map([...places.current.map(({ input }) => input), ...open].map((input) => [keyOf(input), input]));
  const keys = open.filter((input) => input.request !== null || !isCopy(input, known)).map(keyOf);
  const order = keepOrder(!isPast.value && (isUsed || !hasMouse.matches) ? places.current : [], keys);
  const gone = order.filter(({ isGone }) => isGone).slice(-goneMax);
  places.current = order
    .filter((place) => !place.isGone || gone.includes(place))
    .flatMap(({ key, isGone }) => {
      const input = known.get(key);
      return input === undefined ? [] : [{ key, isGone, input }];
    });
  return places.current;
}

const keyOf = ({ seq }: InputRequest): string => String(seq);

/** An agent may report a question and then request its answer through another hook. */
const isCopy = ({ tool, detail }: InputRequest, known: ReadonlyMap<string, InputRequest>): boolean =>
  [...known.values()].some((other) => other.request !== null && other.tool === tool && other.detail === detail);

/** Properties of the form that answers all questions of a request at once. */
type FormProps = {
  readonly questions: readonly Question[];
  /** Whether the request no longer waits. */
  readonly isGone: boolean;
  readonly send: (message: string) => void;
  /** Further buttons. */
  readonly children: ComponentChildren;
};

function QuestionForm({ questions, isGone, send, children }: FormProps) {
  const submit = (fields: FormData, form: HTMLFormElement) => {
    const answers = questions.map((_, index) => {
      const own = String(fields.get(`own-${index}`) ?? '').trim();
      return [...fields.getAll(`choice-${index}`).map(String), ...(own === '' ? [] : [own])];
    });
    if (answers.every((answer) => answer.length > 0)) send(toMessage(questions, answers));
    else form.querySelector<HTMLElement>(`[name=own-${answers.findIndex((answer) => answer.length === 0)}]`)?.focus();
  };
  return (
    <Form class="questions" submit={submit}>
      {questions.map((question, index) => (
        <QuestionField
          key={question.question}
          question={question}
          name={String(index)}
          isGone={isGone}
          isOnly={questions.length === 1}
        />
      ))}
      <p class="row buttons">
        <Submit disabled={isGone}>Answer</Submit>
        {children}
      </p>
    </Form>
  );
}

/** `isOnly`: it is the only question of its form, so that one choice answers it. */
type FieldProps = {
  readonly question: Question;
  readonly name: string;
  readonly isGone: boolean;
  readonly isOnly: boolean;
};

const QuestionField = ({ question: { question, isMultiple, choices }, name, isGone, isOnly }: FieldProps) => (
  <fieldset disabled={isGone}>
    <legend class="strong">
      <Text value={question} max={600} />
    </legend>
    {choices.map((choice, index) => (
      <ChoiceField
        key={choice.label}
        choice={choice}
        name={`choice-${name}`}
        type={isMultiple ? 'checkbox' : 'radio'}
        answer={isOnly && !isMultiple && index < 3 ? index + 1 : null}
      />
    ))}
    <label class="own">
      {choices.length === 0 ? 'Your answer' : 'Or in your own words'}
      <input name={`own-${name}`} maxLength={1_000} autoComplete="off" />
    </label>
  </fieldset>
);

/** `answer`: the key that sends this choice, or null. */
type ChoiceProps = {
  readonly choice: Choice;
  readonly name: string;
  readonly type: 'radio' | 'checkbox';
  readonly answer: number | null;
};

const ChoiceField = ({ choice: { label, description }, name, type, answer }: ChoiceProps) => (
  <label class="choice">
    <input type={type} name={name} value={label} data-answer={answer ?? undefined} />
    {answer !== null && <kbd>{answer}</kbd>}
    <span>
      <Text value={label} max={200} />
      {description !== '' && (
        <span class="muted">
          {' '}
          <Text value={description} max={200} />
        </span>
      )}
    </span>
  </label>
);

/** `inputs` are the requests shown, possibly frozen while someone points at them. `live` are those that still wait. */
type RequestProps = Pick<WorkerView, 'worker' | 'inputs' | 'rules' | 'escalation'> & {
  readonly live: WorkerView['inputs'];
  readonly isUsed: boolean;
};

export function InputRequests({ worker, inputs, rules, escalation, live, isUsed }: RequestProps) {
  const open = inputs.filter(({ seq }) => live.some((input) => input.seq === seq));
  const shown = useStableOrder(open, isUsed);
  if (shown.length === 0) return null;
  return (
    <section class="escalation" aria-label="Asks a person">
      <h3>Asks a person</h3>
      <ul class="plain">
        {shown.map(({ key, input, isGone }) => (
          <InputLine
            key={key}
            worker={worker}
            input={input}
            isGone={isGone}
            askMs={rules.askMs}
            asksMore={
              escalation !== null || live.some(({ seq }) => seq !== input.seq && !answeredRequests.value.has(seq))
            }
          />
        ))}
      </ul>
    </section>
  );
}

/**
 * `askMs` is how long the agent waits for an answer from here, or null. `asksMore`: the agent also asks something else.
 */
type LineProps = Pick<PlacedRequest, 'input' | 'isGone'> &
  Pick<WorkerView, 'worker'> & { readonly askMs: number | null; readonly asksMore: boolean };

function InputLine({ worker, input, isGone, askMs, asksMore }: LineProps) {
  const { tool, message, kind, detail, request, since, seq } = input;
  const questions = readQuestions(detail);
  const untilMs = Date.parse(since) + (askMs ?? 0);
  // Re-renders only when the wait ends, not every second.
  const isHeld = useComputed(() => untilMs > shownMs.value).value;
  const canAnswer = isHeld && request !== null && !isPast.value;
  const others = useAlike(worker, canAnswer ? input : null);
  const [isForAll, setForAll] = useState(true);
  const [isDenying, setDenying] = useState(false);
  const line = useRef<HTMLLIElement>(null);
  const isAnswered = answeredRequests.value.has(seq);
  const isOver = isGone || isAnswered;
  const answer = (action: OperatorAction, prompt: string) => {
    const own: Target = { entity: 'worker', id: worker, request: request ?? '', seq, untilMs, asksMore };
    const targets = isForAll ? [own, ...others] : [own];
    if (line.current !== null) giveAnswer(line.current, { request: { action, targets }, prompt });
  };
  const otherWays = (
    <>
      <Button
        disabled={isOver}
        data-answer={questions === null ? 2 : undefined}
        aria-expanded={isDenying}
        onClick={() => setDenying(!isDenying)}
      >
        {questions === null && <kbd>2</kbd>}
        Deny…
      </Button>
      <SnoozeField item={{ entity: 'worker', id: worker }} />
    </>
  );
  return (
    <li
      ref={line}
      data-gone={isOver || undefined}
      data-answers={canAnswer && !isOver ? waitingKey({ entity: 'worker', id: worker }) : undefined}
    >
      {questions === null && (
        <p class="question">
          {tool !== null && (
            <b>
              <Text value={tool} max={60} />{' '}
            </b>
          )}
          <Text value={message ?? kind ?? 'It asks for something.'} />
        </p>
      )}
      {questions === null
        ? detail !== null && <Detail detail={detail} />
        : !canAnswer && <QuestionList questions={questions} />}
      <p class="muted">
        {isGone ? 'No longer waiting.' : isAnswered ? 'You have answered.' : <Ago thenMs={Date.parse(since)} />}
        {!isOver && canAnswer && (
          <>
            {' · '}
            <Left untilMs={untilMs} />
          </>
        )}
      </p>
      {!canAnswer && <p class="muted">Answer it in the agent’s own terminal.</p>}
      {canAnswer && <NameField />}
      {canAnswer && questions !== null && (
        <QuestionForm questions={questions} isGone={isOver} send={(choice) => answer('allow', choice)}>
          {otherWays}
        </QuestionForm>
      )}
      {canAnswer && questions === null && (
        <p class="row buttons">
          <Button class="primary" disabled={isOver} data-answer={1} onClick={() => answer('allow', '')}>
            <kbd>1</kbd>
            Allow
          </Button>
          {otherWays}
        </p>
      )}
      {canAnswer && isDenying && !isOver && (
        <DenyForm deny={(reason) => answer('deny', reason)} close={() => setDenying(false)} />
      )}
      {/* Below the buttons, because it appears later and must not move them. */}
      {canAnswer && others.length > 0 && (
        <label class="row">
          <input type="checkbox" checked={isForAll} onChange={() => setForAll(!isForAll)} /> Send the same answer to all{' '}
          {others.length + 1} that ask exactly this
        </label>
      )}
    </li>
  );
}

type DenyProps = { readonly deny: (reason: string) => void; readonly close: () => void };

/** Asks for a reason below the question, which stays visible. */
function DenyForm({ deny, close }: DenyProps) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  return (
    <form
      ref={form}
      class="row deny buttons"
      aria-label="Deny"
      onSubmit={(event) => {
        event.preventDefault();
        deny(String(new FormData(event.currentTarget).get('reason')));
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        form.current?.closest('li')?.querySelector<HTMLElement>('[aria-expanded]')?.focus();
        close();
      }}
    >
      <input
        name="reason"
        maxLength={20_000}
        autoComplete="off"
        aria-label="Reason, for the agent (optional)"
        placeholder="Reason for the agent (optional)"
      />
      <button type="submit">Deny</button>
    </form>
  );
}

/** Maximum number of workers to compare. The rest needs another answer. */
const alikeMax = 50;

/**
 * Finds other workers that wait for an answer to exactly the same request. Rows have only its beginning, so the full
 * view of each candidate is loaded.
 * @param input null if it cannot be answered here
 */
function useAlike(worker: string, input: InputRequest | null): readonly Target[] {
  const [found, setFound] = useState<readonly Target[]>([]);
  const [, ...others] = input === null ? [] : alikeOf({ entity: 'worker', id: worker });
  const ids = others
    .slice(0, alikeMax)
    .map(({ id }) => id)
    .join('\n');
  useEffect(() => {
    setFound([]);
    if (ids === '' || input === null) return;
    const given = new AbortController();
    const read = (id: string) => get<WorkerView>(`get/worker/${encodeURIComponent(id)}`, given.signal);
    for (const id of ids.split('\n'))
      read(id).then(
        ({ inputs, rules, escalation }) => {
          const same = rules.askMs === null ? undefined : inputs.find((other) => isSame(other, input));
          if (same === undefined) return;
          const { seq, since, request } = same;
          const untilMs = Date.parse(since) + (rules.askMs ?? 0);
          const asksMore = escalation !== null || inputs.some((other) => other.seq !== seq);
          const target: Target = { entity: 'worker', id, request: request ?? '', seq, untilMs, asksMore };
          setFound((known) => [...known, target]);
        },
        () => {},
      );
    return () => given.abort();
  }, [ids, input?.seq]);
  return found;
}

const isSame = (one: InputRequest, other: InputRequest): boolean =>
  one.request !== null && (['kind', 'tool', 'message', 'detail'] as const).every((key) => one[key] === other[key]);

/** Shows each field of a tool's input separately, so that no text can pass for another field. */
function Detail({ detail }: { detail: string }) {
  const fields = readFields(detail);
  if (fields === null) return <Text block value={detail} max={600} />;
  return (
    <dl class="tool-input">
      {Object.entries(fields).map(([name, value]) => (
        <div key={name}>
          <dt>
            <Text value={name} max={60} />
          </dt>
          <dd>
            <Text block value={typeof value === 'string' ? value : JSON.stringify(value, null, 1)} max={600} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const QuestionList = ({ questions }: { questions: readonly Question[] }) => (
  <ul>
    {questions.map(({ question, choices }) => (
      <li key={question}>
        <Text value={question} max={600} />
        {choices.length > 0 && (
          <span class="muted">
            {' '}
            <Text value={choices.map(({ label }) => label).join(' · ')} max={300} />
          </span>
        )}
      </li>
    ))}
  </ul>
);
