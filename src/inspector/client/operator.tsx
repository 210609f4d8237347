/** What an operator may say of an actor. Each word is asked about before it is sent, and is an entry with who said it. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { WorkerView } from '../../../machines/index.ts';
import { ApiError, post } from './api.ts';
import { hello } from './connection.ts';
import { Dialog } from './dialog.tsx';
import { isPast, shownMs } from './past.ts';
import { askToSignIn } from './sign-in.tsx';
import { ago } from './terms.ts';
import { Text } from './text.tsx';

type Entity = 'worker' | 'task';
type Word = 'acknowledge' | 'resume' | 'stop' | 'retire';
type Question = { readonly word: Word; readonly entity: Entity; readonly id: string };
type Escalation = WorkerView['escalation'];

const question = signal<Question | null>(null);
const nameKey = 'stopgate.by';

const words = {
  acknowledge: {
    button: 'Acknowledge',
    title: 'Acknowledge',
    says: 'You look after it. It stays escalated until it is resolved.',
  },
  resume: {
    button: 'Let it go on…',
    title: 'Resolve: go on',
    says: 'It may go on. What you write here is the next that its agent is told.',
  },
  stop: { button: 'Stop it…', title: 'Resolve: stop', says: 'It stops for good: the next attempt to stop is allowed.' },
  retire: {
    button: 'Retire…',
    title: 'Retire',
    says: 'It is done for good: its tasks go back to the queue, and every stop is allowed.',
  },
} as const;

export function OperatorButtons(props: { entity: Entity; id: string; escalation: Escalation; ended: boolean }) {
  const { entity, id, escalation, ended } = props;
  if (isPast.value) return null;
  const offered: Word[] = [];
  if (escalation !== null) {
    if (escalation.acknowledgedBy === null) offered.push('acknowledge');
    offered.push('resume', 'stop');
  }
  if (entity === 'worker' && !ended) offered.push('retire');
  if (offered.length === 0) return null;
  const ask = (word: Word) => {
    const next = () => {
      question.value = { word, entity, id };
    };
    if (hello.value?.operator === true) next();
    else askToSignIn('operator', next);
  };
  return (
    <p class="buttons">
      {offered.map((word) => (
        <button key={word} type="button" class={word === 'resume' ? 'primary' : ''} onClick={() => ask(word)}>
          {words[word].button}
        </button>
      ))}
    </p>
  );
}

export function OperatorQuestion() {
  const asked = question.value;
  return asked === null ? null : <Confirm key={`${asked.word}${asked.id}`} {...asked} />;
}

function Confirm({ word, entity, id }: Question) {
  const [by, setBy] = useState(localStorage.getItem(nameKey) ?? '');
  const [prompt, setPrompt] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const close = () => {
    question.value = null;
  };
  const send = async () => {
    setBusy(true);
    try {
      localStorage.setItem(nameKey, by.trim());
      if (word === 'acknowledge') await post('operator/acknowledge', { entity, id, by });
      else if (word === 'retire') await post('operator/retire', { id, by });
      else {
        const said = word === 'resume' && prompt.trim() !== '' ? { prompt } : {};
        await post('operator/resolve', { entity, id, by, verdict: word, ...said });
      }
      close();
      // The button that was pressed goes with what it was for.
      requestAnimationFrame(() => document.querySelector<HTMLElement>('aside h2')?.focus({ preventScroll: true }));
    } catch (error) {
      setBusy(false);
      setProblem((error as Error).message);
      if (error instanceof ApiError && error.status === 401) {
        close();
        askToSignIn('operator', () => {
          question.value = { word, entity, id };
        });
      }
    }
  };
  return (
    <Dialog title={`${words[word].title}: ${entity} ${id}`} close={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <p>{words[word].says}</p>
        {word === 'resume' && (
          <label>
            Prompt for the agent (may be empty)
            <textarea
              rows={4}
              value={prompt}
              maxLength={20_000}
              onInput={(event) => setPrompt(event.currentTarget.value)}
            />
          </label>
        )}
        <label>
          Your name, which the entry will carry
          <input
            required
            value={by}
            maxLength={200}
            autoComplete="name"
            onInput={(event) => setBy(event.currentTarget.value)}
          />
        </label>
        {problem !== null && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy}>
            {words[word].title}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

export function EscalationNote({
  escalation,
  resolution,
}: {
  escalation: Escalation;
  resolution: WorkerView['resolution'];
}) {
  return (
    <>
      {escalation !== null && (
        <section class="escalation" aria-label="Escalation">
          <h3>A person is needed</h3>
          <p>
            <Text value={escalation.reason} />
          </p>
          <p class="muted">
            {escalation.cause}, {ago(Date.parse(escalation.since), shownMs.value)} ·{' '}
            {escalation.acknowledgedBy === null ? (
              'nobody has said yet that he looks after it'
            ) : (
              <>
                <Text value={escalation.acknowledgedBy} max={60} /> looks after it
              </>
            )}
            {escalation.notified > 0 && ` · people were told ${escalation.notified}×`}
          </p>
        </section>
      )}
      {resolution !== null && (
        <section class="resolution" aria-label="Resolution">
          <h3>
            Resolved: {resolution.verdict} <span class="muted">by </span>
            <Text value={resolution.by} max={60} />{' '}
            <span class="muted">{ago(Date.parse(resolution.at), shownMs.value)}</span>
          </h3>
          {resolution.prompt !== null && (
            <blockquote>
              <Text block value={resolution.prompt} max={600} />
            </blockquote>
          )}
        </section>
      )}
    </>
  );
}
