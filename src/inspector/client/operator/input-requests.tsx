/** What an agent asks of a person: a permission with its tool and input, or a question. Answered here where the policy holds it. */
import type { WorkerView } from '../../../../machines/index.ts';
import { type Question, readFields, readQuestions } from '../../../service/questions.ts';
import { isPast, shownMs } from '../data/past.ts';
import { ago } from '../ui/format.ts';
import { Text } from '../ui/text.tsx';
import { type OperatorAction, requestAction } from './operator-actions.ts';
import { QuestionForm } from './question-form.tsx';

type Request = WorkerView['inputs'][number];

export function InputRequests({ view: { worker, inputs, rules } }: { view: WorkerView }) {
  const shown = inputs.filter((it) => it.request !== null || !inputs.some((other) => isAnswerableCopy(other, it)));
  if (shown.length === 0) return null;
  return (
    <section class="escalation" aria-label="Asks a person">
      <h3>Asks a person</h3>
      <ul class="plain">
        {shown.map((it) => (
          <InputLine key={it.seq} worker={worker} input={it} isHeld={rules.askMs !== null} />
        ))}
      </ul>
    </section>
  );
}

/** An agent may report a question and then, by another of its hooks, ask for its answer. */
const isAnswerableCopy = (other: Request, { tool, detail }: Request): boolean =>
  other.request !== null && other.tool === tool && other.detail === detail;

function InputLine({ worker, input, isHeld }: { worker: string; input: Request; isHeld: boolean }) {
  const { tool, message, kind, detail, request, since, seq } = input;
  const questions = readQuestions(detail);
  const canAnswer = isHeld && request !== null && !isPast.value;
  const answer = (action: OperatorAction, choice?: string) => {
    const targets = [{ entity: 'worker', id: worker, request: request ?? '', seq }] as const;
    requestAction({ action, targets, ...(choice === undefined ? {} : { choice }) });
  };
  return (
    <li>
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
      <p class="muted">{ago(Date.parse(since), shownMs.value)}</p>
      {!canAnswer && <p class="muted">Answer it in the agent’s own terminal.</p>}
      {canAnswer && questions !== null && (
        <QuestionForm questions={questions} send={(choice) => answer('allow', choice)} refuse={() => answer('deny')} />
      )}
      {canAnswer && questions === null && (
        <p class="buttons">
          <button type="button" class="primary" onClick={() => answer('allow')}>
            Allow
          </button>
          <button type="button" onClick={() => answer('deny')}>
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
