/** The section "why" of a worker: its last decision, what is missing, and its last attempts with their differences. */

import { useEffect, useState } from 'preact/hooks';
import type { Decision, WorkerView } from '../../../../machines/index.ts';
import { sentenceOfDecision, withoutCap } from '../../../../machines/replay/sentence.ts';
import { describeOutcome, missingIn } from '../../../../machines/replay/standing.ts';
import type { DiffLine, LineChange } from '../../../text/line-diff.ts';
import { attemptsShown, changesBetween, describePattern, patternOf } from '../../attempt-changes.ts';
import type { AttemptRecord, AttemptWork } from '../../messages.ts';
import { verdictOf } from '../../vocabulary.ts';
import { get, post } from '../data/api.ts';
import { isPast } from '../data/past.ts';
import { route } from '../route.ts';
import { Button } from '../ui/controls.tsx';
import { age, cost, inLocalTime, plural } from '../ui/format.ts';
import { DecisionMark, Excerpt, Since, Tail, Text, wordsOf } from '../ui/text.tsx';
import { DecisionCard } from './decision-card.tsx';

/**
 * The last attempts, newest first, each with the changes since the previous one.
 * @param said the sequence of the decision whose reason stands above or below the list, or null
 */
function AttemptList({ attempts, said }: { attempts: readonly AttemptRecord[]; said: number | null }) {
  if (attempts.length === 0) return null;
  return (
    <section aria-label="Attempts">
      <h3>Attempts</h3>
      <p class="attempt-row muted" aria-hidden="true">
        <span>Answer</span>
        <span>Work before it</span>
        <span>Cost</span>
        <span>Age</span>
      </p>
      <ol class="attempts">
        {attempts.map((attempt, index) => (
          <Attempt
            key={attempt.seq}
            attempt={attempt}
            older={attempts[index + 1]}
            isOpen={index === 0}
            isSaid={said !== null && attempt.decision?.seq === said}
          />
        ))}
      </ol>
    </section>
  );
}

/** `isSaid`: the reason of its decision is shown elsewhere. */
type Props = {
  readonly attempt: AttemptRecord;
  readonly older: AttemptRecord | undefined;
  readonly isOpen: boolean;
  readonly isSaid: boolean;
};

const Attempt = ({ attempt, older, isOpen, isSaid }: Props) => (
  <li>
    <details open={isOpen}>
      <summary class="attempt-row">
        {attempt.decision === null ? (
          <b>open</b>
        ) : isSaid || verdictOf(attempt.decision).kind === 'complete' ? (
          <DecisionMark decision={attempt.decision} />
        ) : (
          <Answer decision={attempt.decision} />
        )}
        <WorkBefore work={attempt.work} />
        <Since sinceMs={attempt.atMs} />
      </summary>
      {attempt.output === null || attempt.output.trim() === '' ? (
        <p class="muted">This attempt has no output.</p>
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

/** The work since the previous attempt, and its cost. */
const WorkBefore = ({ work }: { work: AttemptRecord['work'] }) => (
  <>
    <span class="muted">{work === null ? '–' : describeWork(work)}</span>
    <span>{work === null || work.usd + work.tokens === 0 ? <span class="muted">–</span> : cost(work)}</span>
  </>
);

const describeWork = ({ tools, files, ms }: AttemptWork): string =>
  [
    ...(tools === 0 ? ['no tool'] : [plural(tools, 'tool')]),
    ...(files === 0 ? [] : [plural(files, 'file')]),
    age(ms),
  ].join(', ');

/** A decision in one sentence, with the protocol's words as tooltip. */
export const Answer = ({ decision }: { decision: Decision }) => (
  <b class="answer" data-verdict-kind={verdictOf(decision).kind} title={wordsOf(decision)}>
    <Excerpt value={inLocalTime(sentenceOfDecision(decision))} />
  </b>
);

const otherWork = { prompt: 'A prompt', task: 'Another task' } as const;

function Changed({ newer, older }: { newer: AttemptRecord; older: AttemptRecord }) {
  const begun = newer.work?.begun ?? null;
  if (begun !== null) return <p class="muted">{otherWork[begun]} came in between, so the attempts are not compared.</p>;
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
      {findings.length > 0 ? <Findings changes={findings} /> : <p class="muted">The checks gave the same results.</p>}
      {newer.output !== null && older.output !== null && output.length > 0 && (
        <details class="input">
          <summary>what the agent said: {plural(linesChanged(output), 'line')} changed</summary>
          <Lines changes={output} />
        </details>
      )}
    </div>
  );
}

/** Counts changed lines. A replaced line counts once. */
const linesChanged = (changes: readonly LineChange[]): number => {
  const added = changes.filter(({ sign }) => sign === '+').length;
  return Math.max(added, changes.length - added);
};

const linesShown = 12;

const signWords = { '+': 'new: ', '-': 'gone: ', ' ': 'neither: ' } as const;

/** Findings are failures, so new lines are worse and removed lines are better. */
const kinds = [
  ['+', 'worse', 'Worse'],
  ['-', 'better', 'Better'],
  [' ', 'unknown', 'Neither'],
] as const;

const Findings = ({ changes }: { changes: readonly DiffLine[] }) => (
  <>
    {kinds.map(([sign, kind, title]) => {
      const found = changes.filter((change) => change.sign === sign);
      return found.length === 0 ? null : (
        <div key={kind} class="findings" data-change={kind}>
          <b>{title}</b>
          <Lines changes={found} />
        </div>
      );
    })}
  </>
);

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

/**
 * Loads the last attempts of a worker.
 * @param version changes when there may be another attempt
 * @returns newest first, or null while loading
 */
function useAttempts(worker: string, version: unknown): readonly AttemptRecord[] | null {
  const [loaded, setLoaded] = useState<readonly AttemptRecord[] | null>(null);
  const { at } = route.value;
  useEffect(() => {
    const given = new AbortController();
    const before = at === null ? '' : `&before=${at + 1}`;
    get<{ attempts: AttemptRecord[] }>(`attempts/${worker}?limit=${attemptsShown}${before}`, given.signal).then(
      ({ attempts }) => setLoaded(attempts),
      // Without the attempts, the rest is shown.
      () => setLoaded((old) => old ?? []),
    );
    return () => given.abort();
  }, [worker, version, at]);
  return loaded;
}

/** Lists what the worker still needs before it may stop, as of its last decision or of a dry run now. */
function WhyNotYet({ view }: { view: WorkerView }) {
  const { tried, problem, busy, tryNow } = useProbe(view);
  if (view.state === 'stopped') return null;
  const { missing: all, note } =
    tried === null
      ? view.standing
      : { missing: missingIn(tried), note: missingIn(tried).length > 0 ? null : describeOutcome(tried) };
  // What the card of the last decision, the questions of the agent and the answer form say is not repeated.
  const isAsked = view.inputs.length > 0 || view.escalation !== null;
  const isBeyond = (line: string) => !(isAsked && line.startsWith('a person '));
  const missing = tried === null ? missingBeyond(all, view.lastDecision).filter(isBeyond) : all;
  const tryButton = !isPast.value && (
    <Button disabled={busy} title="Dry run: judges a stop without logging or counting it" onClick={tryNow}>
      {busy ? 'Trying…' : 'Try now'}
    </Button>
  );
  // The note of a pause says so.
  const shownNote = tried === null && view.paused !== null ? null : note;
  if (tryButton === false && missing.length === 0 && shownNote === null) return null;
  return (
    <section class="not-yet" aria-label="Why not yet">
      {missing.length > 0 && <h3>Why not yet</h3>}
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
              <Text key={index} as="li" value={text} max={200} />
            ))}
          </ul>
        )}
        {shownNote !== null && <Text as="p" class="muted" value={inLocalTime(shownNote)} max={400} />}
      </div>
      {tryButton}
    </section>
  );
}

/** Returns the lines that the card of the decision does not show. */
const missingBeyond = (missing: readonly string[], shown: Decision | null): readonly string[] => {
  const known = new Set(shown === null ? [] : missingIn(shown));
  return missing.filter((line) => !known.has(line));
};

/** Asks how a stop would be decided now. Drops the answer at the next decision. */
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

/** Whether the sentence about the worker, or the reason in the card, is the sentence of its last decision. */
function isSaidAbove({ sentence }: WorkerView, decision: Decision): boolean {
  const said = sentenceOfDecision(decision).toLowerCase();
  return sentence.toLowerCase() === said || said.includes(decision.reason.toLowerCase());
}

/** Whether the sentence above names the reason of the last decision, too. Questions of the agent hide that sentence. */
const saysReason = ({ sentence, inputs, lastDecision }: WorkerView): boolean =>
  lastDecision !== null &&
  inputs.length === 0 &&
  (lastDecision.decision === 'block' || lastDecision.cause === 'capped') &&
  sentence === sentenceOfDecision(lastDecision) &&
  sentence.toLowerCase().includes(withoutCap(lastDecision.reason).toLowerCase());

export function Why({ id, view }: { id: string; view: WorkerView }) {
  const { lastDecision } = view;
  const attempts = useAttempts(id, lastDecision?.seq ?? null);
  if (lastDecision === null && view.state === 'stopped')
    return <p class="muted">There is no decision yet: it has not tried to stop.</p>;
  if (lastDecision === null) return <WhyNotYet view={view} />;
  // If a person must answer, show the agent's output first.
  const isForPerson = view.escalation !== null;
  // The attempts are loaded later and must move nothing: what comes below them waits for them.
  const card = (
    <section aria-label="Last decision">
      <DecisionCard decision={lastDecision} label="Last decision" isSaid={isForPerson || saysReason(view)} />
    </section>
  );
  const pattern = attempts === null || view.state === 'stopped' ? null : patternOf(attempts);
  return (
    <>
      {!isForPerson && card}
      {!isForPerson && <WhyNotYet view={view} />}
      {pattern !== null && <p class="pattern strong">{describePattern(pattern)}</p>}
      {attempts !== null && (
        <AttemptList
          attempts={attempts}
          said={isForPerson || isSaidAbove(view, lastDecision) ? lastDecision.seq : null}
        />
      )}
      {isForPerson && attempts !== null && card}
    </>
  );
}
