/** What an agent asks of a person: a permission with its tool and input, or a question. Answered here where the policy holds it. */
import type { WorkerView } from '../../../../machines/index.ts';
import { isPast, shownMs } from '../data/past.ts';
import { ago } from '../ui/format.ts';
import { Text } from '../ui/text.tsx';
import { type OperatorAction, requestAction } from './operator-actions.ts';

type Request = WorkerView['inputs'][number];

export const InputRequests = ({ view: { worker, inputs, rules } }: { view: WorkerView }) =>
  inputs.length === 0 ? null : (
    <section class="escalation" aria-label="Asks a person">
      <h3>Asks a person</h3>
      <ul class="plain">
        {inputs.map((it) => (
          <InputLine key={it.seq} worker={worker} input={it} isHeld={rules.askMs !== null} />
        ))}
      </ul>
    </section>
  );

const InputLine = ({ worker, input, isHeld }: { worker: string; input: Request; isHeld: boolean }) => (
  <li>
    <p class="question">
      {input.tool !== null && (
        <b>
          <Text value={input.tool} max={60} />{' '}
        </b>
      )}
      <Text value={input.message ?? input.kind ?? 'It asks for something.'} />
    </p>
    {input.detail !== null && <Text block value={input.detail} max={600} />}
    <p class="muted">{ago(Date.parse(input.since), shownMs.value)}</p>
    {isHeld && input.request !== null && !isPast.value ? (
      <Answers worker={worker} request={input.request} />
    ) : (
      <p class="muted">Answer it in the agent’s own terminal.</p>
    )}
  </li>
);

function Answers({ worker, request }: { worker: string; request: string }) {
  const answer = (action: OperatorAction) => () =>
    requestAction({ action, targets: [{ entity: 'worker', id: worker, request }] });
  return (
    <p class="buttons">
      <button type="button" class="primary" onClick={answer('allow')}>
        Allow
      </button>
      <button type="button" onClick={answer('deny')}>
        Deny…
      </button>
    </p>
  );
}
