/** What would let a worker go: the shortest list, as it stands, or as of now when it is tried. */
import { useEffect, useState } from 'preact/hooks';
import type { Decision, WorkerView } from '../../../../machines/index.ts';
import { describeOutcome, missingIn } from '../../../../machines/replay/standing.ts';
import { post } from '../data/api.ts';
import { isPast } from '../data/past.ts';
import { DecisionMark } from '../ui/state-mark.tsx';
import { Text } from '../ui/text.tsx';

export function WhyNotYet({ view }: { view: WorkerView }) {
  const { tried, problem, busy, tryNow } = useProbe(view);
  if (view.state === 'stopped') return null;
  const { missing, note } =
    tried === null
      ? view.standing
      : { missing: missingIn(tried), note: missingIn(tried).length > 0 ? null : describeOutcome(tried) };
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
        {note !== null && (
          <p class="muted">
            <Text value={note} max={400} />
          </p>
        )}
      </div>
    </section>
  );
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
