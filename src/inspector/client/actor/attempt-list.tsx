/** The last attempts, newest first, each with what changed since the one before. */
import type { DiffLine, LineChange } from '../../../line-diff.ts';
import { changesBetween } from '../../attempt-changes.ts';
import type { AttemptRecord } from '../../messages.ts';
import { Ago } from '../ui/age.tsx';
import { plural } from '../ui/format.ts';
import { DecisionMark } from '../ui/state-mark.tsx';
import { Tail } from '../ui/tail.tsx';
import { Text } from '../ui/text.tsx';

export function AttemptList({ attempts }: { attempts: readonly AttemptRecord[] }) {
  if (attempts.length === 0) return null;
  return (
    <section aria-label="Attempts">
      <h3>Attempts</h3>
      <ol class="attempts">
        {attempts.map((it, index) => (
          <Attempt key={it.seq} attempt={it} older={attempts[index + 1]} isOpen={index === 0} />
        ))}
      </ol>
    </section>
  );
}

type Props = { readonly attempt: AttemptRecord; readonly older: AttemptRecord | undefined; readonly isOpen: boolean };

const Attempt = ({ attempt, older, isOpen }: Props) => (
  <li>
    <details open={isOpen}>
      <summary>
        {attempt.decision === null ? <b>open</b> : <DecisionMark decision={attempt.decision} />}{' '}
        <span class="muted when">
          <Ago thenMs={attempt.atMs} />
        </span>
      </summary>
      {attempt.output === null || attempt.output.trim() === '' ? (
        <p class="muted">No output came with this attempt.</p>
      ) : (
        <div class="said">
          <h4>The agent said</h4>
          <Tail value={attempt.output} />
        </div>
      )}
      {older !== undefined && <Changed newer={attempt} older={older} />}
    </details>
  </li>
);

function Changed({ newer, older }: { newer: AttemptRecord; older: AttemptRecord }) {
  const { answer, findings, output } = changesBetween(newer, older);
  if (answer === null && findings.length === 0 && output.length === 0)
    return <p class="muted">Nothing has changed since the previous attempt.</p>;
  return (
    <div class="changed">
      <h4>Since the previous attempt</h4>
      {answer !== null && (
        <p>
          <Text value={answer[0]} max={40} /> → <b>{answer[1]}</b>
        </p>
      )}
      {findings.length > 0 ? <Lines changes={findings} /> : <p class="muted">The checks gave the same results.</p>}
      {newer.output !== null && older.output !== null && output.length > 0 && (
        <details class="input">
          <summary>what the agent said: {plural(linesChanged(output), 'line')} changed</summary>
          <Lines changes={output} />
        </details>
      )}
    </div>
  );
}

/** A line that was replaced is gone and new. */
const linesChanged = (changes: readonly LineChange[]): number => {
  const added = changes.filter(({ sign }) => sign === '+').length;
  return Math.max(added, changes.length - added);
};

const linesShown = 12;

const signWords = { '+': 'new: ', '-': 'gone: ', ' ': 'not compared: ' } as const;

const Lines = ({ changes }: { changes: readonly DiffLine[] }) => (
  <ul class="lines">
    {changes.slice(0, linesShown).map(({ sign, text }, index) => (
      <li key={index} data-sign={sign}>
        <span class="sr-only">{signWords[sign]}</span>
        <span aria-hidden="true">{sign}</span> <Text value={text} max={160} />
      </li>
    ))}
    {changes.length > linesShown && <li class="muted">and {plural(changes.length - linesShown, 'more line')}</li>}
  </ul>
);
