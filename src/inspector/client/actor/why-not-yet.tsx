/** What would let a worker stop: the shortest list, as of its last attempt, or as of now when it is tried. */
import { useEffect, useState } from 'preact/hooks';
import type { Decision, WorkerView } from '../../../../machines/index.ts';
import { missingFor } from '../../../../machines/replay/explain.ts';
import { post } from '../data/api.ts';
import { isPast } from '../data/past.ts';
import { DecisionMark } from '../ui/state-mark.tsx';
import { Text } from '../ui/text.tsx';

export function WhyNotYet({ view }: { view: WorkerView }) {
  const { tried, problem, busy, tryNow } = useProbe(view);
  if (view.state === 'stopped') return null;
  const shown = tried ?? view.lastDecision;
  const missing = shown === null ? [] : missingFor(shown);
  return (
    <section class="not-yet" aria-label="Why not yet">
      <h3>
        Why not yet{' '}
        {!isPast.value && (
          <button type="button" disabled={busy} title="Judges it as a stop, logs and counts nothing" onClick={tryNow}>
            {busy ? 'Trying…' : 'Try now'}
          </button>
        )}
      </h3>
      <div aria-live="polite">
        {problem !== null && <p class="problem">{problem}</p>}
        {tried !== null && (
          <p>
            Now it would be: <DecisionMark decision={tried} />
          </p>
        )}
        {missing.length > 0 && (
          <ul class="missing">
            {missing.map((text, index) => (
              <li key={index}>
                <Text value={text} max={200} />
              </li>
            ))}
          </ul>
        )}
        {missing.length === 0 && tried === null && <p class="muted">{describeLastTry(shown)}</p>}
      </div>
    </section>
  );
}

function describeLastTry(decision: Decision | null): string {
  if (decision === null) return 'It has not tried to stop yet.';
  if (decision.cause === 'unjudged') return 'A check could not be run when it last tried to stop.';
  return 'Nothing was missing when it last tried to stop.';
}

/** Asks how a stop would be answered now. Forgotten when the worker moves on. */
function useProbe({ worker, lastDecision }: WorkerView) {
  const [tried, setTried] = useState<Decision | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => setTried(null), [worker, lastDecision?.seq]);
  const tryNow = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setTried(await post<Decision>(`probe/${worker}`, {}));
    } catch (error) {
      setProblem((error as Error).message);
    }
    setBusy(false);
  };
  return { tried, problem, busy, tryNow: () => void tryNow() };
}
