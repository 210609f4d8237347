/** The policy lab: edits policies and shows how they would have decided the last stops. Nothing is run. */
import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { fleet } from '../data/api.ts';
import { hrefOf } from '../route.ts';
import { Button, FoldProgress, Form, Submit } from '../ui/controls.tsx';
import { Text } from '../ui/text.tsx';
import * as comparison from './comparison.ts';
import { answer, inForce, isBusy, last, loadInForce, type Problem, problem, progress, text } from './comparison.ts';
import { Differences } from './differences.tsx';
import { type Editor, openEditor } from './editor.ts';
import { fromFragment, sharedCharsMax, toFragment } from './share.ts';
import './lab.css';

type Props = { readonly problem: Problem; readonly goTo: (line: number, column: number) => void };

/** The problems of the policies, with links to their positions in the text. */
export function PolicyProblems({ problem: { message, issues }, goTo }: Props) {
  if (issues.length === 0) return <p class="problem">{message}</p>;
  return (
    <ul class="problem plain">
      {issues.map(({ line = 1, column = 1, path, message: text }, index) => (
        <li key={index}>
          <Button class="link" onClick={() => goTo(line, column)}>
            line {line}, column {column}
          </Button>{' '}
          {path !== '' && <code>{path}</code>} <Text value={text} />
        </li>
      ))}
    </ul>
  );
}

/** Buttons to compare the text with the policies in force, reset it, share it or copy it. */
export function LabTools({ showDifference }: { showDifference: (isShown: boolean) => void }) {
  const isShown = useSignal(false);
  const news = useSignal('');
  const tell = async (work: Promise<unknown>, done: string) => {
    news.value = await work.then(
      () => done,
      () => 'The browser does not allow copying here: select the text and copy it.',
    );
  };
  useSignalEffect(() => {
    void text.value;
    news.value = '';
  });
  const isSame = inForce.value === null || inForce.value === text.value;
  return (
    <>
      <p class="row buttons">
        <Button
          aria-pressed={isShown.value}
          disabled={inForce.value === null}
          title="Compare with the policies in force"
          onClick={() => {
            isShown.value = !isShown.value;
            showDifference(isShown.value);
          }}
        >
          Difference
        </Button>
        <Button disabled={isSame} title="Load the policies in force" onClick={() => void loadInForce('always')}>
          Reset
        </Button>
        <Button
          disabled={text.value.length > sharedCharsMax}
          title={text.value.length > sharedCharsMax ? 'The text is too long for a link' : undefined}
          onClick={() =>
            void tell(copyLink(), 'The link is copied. It contains the text, which is not sent to any server.')
          }
        >
          Copy link
        </Button>
        <Button
          title="Copy for stopgate.yaml"
          onClick={() =>
            void tell(
              navigator.clipboard.writeText(text.peek()),
              'Copied. Paste it into stopgate.yaml in place of "policies" and "assign"; the service reloads the file at once.',
            )
          }
        >
          Copy YAML
        </Button>
      </p>
      <p class="muted lab-news" role="status">
        {news.value !== '' ? news.value : isSame ? 'These are the policies in force.' : ''}
      </p>
    </>
  );
}

/** Used by the palette, which loads the lab for it. */
export const { tryRetries } = comparison;

async function copyLink(): Promise<void> {
  const fragment = await toFragment(text.peek());
  await navigator.clipboard.writeText(`${location.origin}${hrefOf({})}${fragment}`);
}

export function Lab() {
  const editor = useRef<Editor | null>(null);
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (fleet.value !== '') void open();
  }, [fleet.value]);
  useEffect(() => {
    if (host.current === null) return;
    const opened = openEditor(host.current, {
      text: text.peek(),
      label: 'Policies, as in stopgate.yaml',
      onChange: comparison.change,
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

/** Takes a shared text from the address, or one kept over a reload, and compares it. */
async function open(): Promise<void> {
  const shared = await fromFragment(location.hash);
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
  if (shared !== null) comparison.change(shared);
  else if (comparison.text.peek() !== '' && answer.peek() === null) comparison.compareSoon();
  await comparison.loadInForce('if empty');
}

const Compare = () => (
  <Form class="row buttons" submit={comparison.compare}>
    <Submit disabled={isBusy.value}>{isBusy.value ? 'Comparing…' : 'Compare'}</Submit>
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
    {progress.value !== null && <FoldProgress progress={progress.value} cancel={comparison.cancel} />}
  </Form>
);
