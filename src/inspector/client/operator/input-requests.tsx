/** What an agent asks of a person: a permission with its tool and input, or a question. Answered here where the policy holds it. */
import type { WorkerView } from '../../../../machines/index.ts';
import { type Question, readFields, readQuestions } from '../../../../machines/values/asked-questions.ts';
import { isPast } from '../data/past.ts';
import { Ago } from '../ui/age.tsx';
import { Text } from '../ui/text.tsx';
import { type OperatorAction, requestAction } from './operator-actions.ts';
import { type PlacedRequest, usePlaces } from './places.ts';
import { QuestionForm } from './question-form.tsx';

/** `inputs`: those that are shown, or still were when somebody began to point at them; `live`: those that wait. */
type Props = Pick<WorkerView, 'worker' | 'inputs' | 'rules'> & {
  readonly live: WorkerView['inputs'];
  readonly isUsed: boolean;
};

export function InputRequests({ worker, inputs, rules, live, isUsed }: Props) {
  const open = inputs.filter(({ seq }) => live.some((it) => it.seq === seq));
  const shown = usePlaces(open, isUsed);
  if (shown.length === 0) return null;
  return (
    <section class="escalation" aria-label="Asks a person">
      <h3>Asks a person</h3>
      <ul class="plain">
        {shown.map(({ key, input, isGone }) => (
          <InputLine key={key} {...{ worker, input, isGone }} isHeld={rules.askMs !== null} />
        ))}
      </ul>
    </section>
  );
}

type LineProps = Pick<PlacedRequest, 'input' | 'isGone'> & { readonly worker: string; readonly isHeld: boolean };

function InputLine({ worker, input, isGone, isHeld }: LineProps) {
  const { tool, message, kind, detail, request, since, seq } = input;
  const questions = readQuestions(detail);
  const canAnswer = isHeld && request !== null && !isPast.value;
  const answer = (action: OperatorAction, choice?: string) => {
    const targets = [{ entity: 'worker', id: worker, request: request ?? '', seq }] as const;
    requestAction({ action, targets, ...(choice === undefined ? {} : { choice }) });
  };
  return (
    <li data-gone={isGone || undefined}>
      <p class="question">
        {tool !== null && (
          <b>
            <Text value={tool} max={60} />{' '}
          </b>
        )}
        {questions === null && <Text value={message ?? kind ?? 'It asks for something.'} />}
      </p>
      {questions === null
        ? detail !== null && <Detail detail={detail} />
        : !canAnswer && <Asked questions={questions} />}
      <p class="muted">{isGone ? 'It waits no more.' : <Ago thenMs={Date.parse(since)} />}</p>
      {!canAnswer && <p class="muted">Answer it in the agent’s own terminal.</p>}
      {canAnswer && questions !== null && (
        <QuestionForm
          {...{ questions, isGone }}
          send={(choice) => answer('allow', choice)}
          refuse={() => answer('deny')}
        />
      )}
      {canAnswer && questions === null && (
        <p class="buttons">
          <button type="button" class="primary" disabled={isGone} onClick={() => answer('allow')}>
            Allow
          </button>
          <button type="button" disabled={isGone} onClick={() => answer('deny')}>
            Deny…
          </button>
        </p>
      )}
    </li>
  );
}

/** Each field of a tool's input stands by itself, so that no text can pass for another field. */
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

const Asked = ({ questions }: { questions: readonly Question[] }) => (
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
