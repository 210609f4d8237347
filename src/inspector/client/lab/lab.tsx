/** The policy lab: other policies, and what they would have made of the last stops, as they are typed. Nothing is run. */
import { useEffect, useRef } from 'preact/hooks';
import { fleet } from '../data/api.ts';
import { FoldProgress } from '../ui/progress.tsx';
import * as comparison from './comparison.ts';
import { answer, inForce, isBusy, last, problem, progress, text } from './comparison.ts';
import { Differences } from './differences.tsx';
import { type Editor, openEditor } from './editor.ts';
import { PolicyProblems } from './policy-problems.tsx';
import { fromFragment } from './share.ts';
import { LabTools } from './tools.tsx';
import './lab.css';

export function Lab() {
  const editor = useRef<Editor | null>(null);
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (fleet.value !== '') void open();
  }, [fleet.value]);
  useEffect(() => {
    if (host.current === null) return;
    const opened = openEditor(host.current, {
      ...{ text: text.peek(), label: 'Policies, as in stopgate.yaml', onChange: comparison.change },
    });
    editor.current = opened;
    return () => {
      comparison.cancel();
      opened.close();
    };
  }, []);
  useEffect(() => editor.current?.setText(text.value), [text.value]);
  useEffect(() => editor.current?.showProblems(problem.value?.issues ?? []), [problem.value]);
  return (
    <section class="lab" aria-label="Policy lab">
      <div class="lab-text">
        <h2>What if?</h2>
        <p class="muted">
          Change the policies: which recent stops would have been decided differently, and by which guard? Nothing is
          run and nothing takes effect; check results are taken from the log. Ctrl-Space completes.
        </p>
        <div ref={host} class="lab-editor" />
        <div id="policy-problems" role="alert">
          {problem.value !== null && (
            <PolicyProblems problem={problem.value} goTo={(line, column) => editor.current?.goTo(line, column)} />
          )}
        </div>
        <LabTools showDifference={(isShown) => editor.current?.showDifference(isShown ? inForce.peek() : null)} />
      </div>
      <div class="lab-result">
        <Compare />
        <div aria-live="polite">
          {answer.value === null && problem.value === null && !isBusy.value && (
            <p class="muted">As you edit, the stops that would have been decided differently appear here.</p>
          )}
          {answer.value !== null && (
            <Differences answer={answer.value} isOld={isBusy.value || problem.value !== null} />
          )}
        </div>
      </div>
    </section>
  );
}

/** A shared text is taken from the address, once, and compared at once; so is one that was kept over a reload. */
async function open(): Promise<void> {
  const shared = await fromFragment(location.hash);
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
  if (shared !== null) comparison.change(shared);
  else if (comparison.text.peek() !== '' && answer.peek() === null) comparison.compareSoon();
  await comparison.loadInForce('if empty');
}

const Compare = () => (
  <form
    class="buttons"
    onSubmit={(event) => {
      event.preventDefault();
      void comparison.compare();
    }}
  >
    <button type="submit" class="primary" disabled={isBusy.value}>
      {isBusy.value ? 'Comparing…' : 'Compare'}
    </button>
    {progress.value !== null && <FoldProgress progress={progress.value} cancel={comparison.cancel} />}
    <label class="inline">
      the last{' '}
      <input
        type="number"
        min={1}
        max={comparison.attemptsMax}
        value={last.value}
        onInput={(event) => {
          last.value = Math.max(1, Math.min(comparison.attemptsMax, Number(event.currentTarget.value) || 1));
          comparison.compareSoon();
        }}
      />{' '}
      stops
    </label>
  </form>
);
