/**
 * The table of the policies' checks, with a word for what deserves a look. It folds the log, so it is loaded on demand.
 */
import { useEffect, useState } from 'preact/hooks';
import { lookWords, type RuleHealth, type RulesReport } from '../../rules/rules-report.ts';
import { askPatiently, fleet, type Progress } from '../data/api.ts';
import { Button, FoldProgress, Link, Problem } from '../ui/controls.tsx';
import { count, dateTime, duration, millis, plural } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';

/** Loads the report each time that `asked` grows. 0: it was not asked for. */
function useRules(asked: number) {
  const [report, setReport] = useState<RulesReport | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [cancel, setCancel] = useState<() => void>(() => () => {});
  useEffect(() => {
    if (asked === 0 || fleet.value === '') return;
    const request = new AbortController();
    setCancel(() => () => request.abort());
    setProblem(null);
    askPatiently<RulesReport>('rules', undefined, request.signal, setProgress)
      .then(setReport, (error: Error) => setProblem(request.signal.aborted ? null : error.message))
      .finally(() => setProgress(null));
    return () => request.abort();
  }, [asked, fleet.value]);
  return { report, problem, progress, cancel };
}

export function RulesTable() {
  const [asked, setAsked] = useState(0);
  const { report, problem, progress, cancel } = useRules(asked);
  return (
    <div class="check-table">
      <h3 class="row">
        Rules of the last 30 days{' '}
        {progress === null && (
          <Button onClick={() => setAsked(asked + 1)}>
            {report === null ? 'Which deserve a look?' : 'Count again'}
          </Button>
        )}
      </h3>
      {progress !== null && <FoldProgress progress={progress} cancel={cancel} />}
      <Problem text={problem} />
      {report !== null && <Shown report={report} />}
    </div>
  );
}

function Shown({ report: { rules, decisions, since } }: { report: RulesReport }) {
  if (rules.length === 0) return <p class="muted">No policy of this fleet has checks.</p>;
  const looks = (Object.keys(lookWords) as (keyof typeof lookWords)[]).filter((look) =>
    rules.some((rule) => rule.look === look),
  );
  return (
    <>
      <p class="muted">
        {plural(decisions, 'stop')} reached the checks since {dateTime(Date.parse(since))}.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens */}
      <section class="scroller" tabIndex={0} aria-label="Rules">
        <table>
          <thead>
            <tr>
              <th scope="col">Policy</th>
              <th scope="col">Check</th>
              <th scope="col">Deserves a look</th>
              <th scope="col">Runs</th>
              <th scope="col">Passes</th>
              <th scope="col">Failures</th>
              <th scope="col">Errors</th>
              <th scope="col">Blocks</th>
              <th scope="col">Overturned</th>
              <th scope="col">Median</th>
              <th scope="col">Last failure</th>
            </tr>
          </thead>
          <tbody>
            {rules.map((rule) => (
              <Row key={`${rule.policy} ${rule.check}`} rule={rule} />
            ))}
          </tbody>
        </table>
      </section>
      <dl class="words muted">
        {looks.map((look) => (
          <>
            <dt>{look}</dt>
            <dd>{lookWords[look]}</dd>
          </>
        ))}
      </dl>
    </>
  );
}

const orNothing = (number: number): string => (number === 0 ? '–' : count(number));

function Row({ rule }: { rule: RuleHealth }) {
  const { policy, check, look, runs, passes, failures, errors, blocks, overturned, medianMs, lastFailure } = rule;
  return (
    <tr data-rule={`${policy}/${check}`}>
      <th scope="row">
        <Name value={policy} />
      </th>
      <th scope="row">
        <Name value={check} />
      </th>
      <td data-look={look ?? undefined}>{look ?? ''}</td>
      {[runs, passes, failures, errors, blocks, overturned].map((number, index) => (
        <td key={index}>{orNothing(number)}</td>
      ))}
      <td>{medianMs === null ? '–' : medianMs < 1_000 ? millis(medianMs) : duration(medianMs)}</td>
      <td>
        {lastFailure === null ? (
          '–'
        ) : (
          <Link to={{ view: 'entries', q: `worker:${lastFailure.worker}` }} title={lastFailure.reason}>
            {dateTime(Date.parse(lastFailure.at))}
          </Link>
        )}
      </td>
    </tr>
  );
}
