/** The page: a list on one side, a panel with the selected actor on the other. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { workerStates } from '../../../machines/values/states.ts';
import { type VerdictKind, verdictMeanings, verdictWords } from '../vocabulary.ts';
import { WorkerPanel } from './actor/worker-panel.tsx';
import { fleet, locked } from './data/api.ts';
import { connection, connectionProblem, liveFleet, tick } from './data/connection.ts';
import type { FleetStore } from './data/fleet-store.ts';
import { isPast, leavePast, logRange, pastProblem, shownFleet, shownMs } from './data/past.ts';
import { Header } from './header.tsx';
import { Inbox } from './inbox/inbox.tsx';
import { textOfUnsent, undo, unsent } from './inbox/unsent.ts';
import { QueueList, TaskList } from './lists/task-list.tsx';
import { WorkerList } from './lists/worker-list.tsx';
import { CopyMoment } from './moment-link.tsx';
import { Notice } from './notice.tsx';
import { actionNews } from './operator/operator-actions.ts';
import { OperatorDialog } from './operator/operator-dialog.tsx';
import { LockedPage, SignInDialog } from './operator/sign-in.tsx';
import { HelpDialog, Palette } from './page-keys.tsx';
import { navigate, noSelection, route, selected, type View } from './route.ts';
import { Button, Copy, createLazy, Link } from './ui/controls.tsx';
import { dateTime, plural } from './ui/format.ts';
import { Name } from './ui/text.tsx';

const intervalMs = 5_000;

/** Summary of the fleet for screen readers. Updated every five seconds, and announced only if it changed. */
function LiveSummary({ store }: { store: FleetStore }) {
  const [text, setText] = useState('');
  useEffect(() => {
    const timer = setInterval(() => {
      const parts = workerStates
        .map((state, index) => `${store.workerCounts[index]} ${state}`)
        .filter((text) => !text.startsWith('0 '));
      setText(`${plural(store.workers.size, 'worker')}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`);
    }, intervalMs);
    return () => clearInterval(timer);
  }, [store]);
  return (
    <p class="sr-only" aria-live="polite">
      {text}
    </p>
  );
}

const newsMs = 6_000;

/** Shows the result of an operator's action for a few seconds, since the actor may no longer be visible. */
function ActionNews() {
  const news = actionNews.value;
  useEffect(() => {
    if (news === null) return;
    const timer = setTimeout(() => {
      actionNews.value = null;
    }, newsMs);
    return () => clearTimeout(timer);
  }, [news]);
  return (
    <p class={news === null ? 'news sr-only' : 'news'} role="status" data-problem={news?.isProblem || undefined}>
      {news?.text}
    </p>
  );
}

/** Offers to undo an answer that has not been sent yet. */
function UndoBar() {
  const last = unsent.value.at(-1);
  if (last === undefined) return null;
  void tick.value;
  return (
    <p class="news undo" role="status">
      {textOfUnsent(last)}{' '}
      <Button class="link" aria-keyshortcuts="u" onClick={undo}>
        Undo ({Math.max(0, Math.ceil((last.sendsAtMs - Date.now()) / 1_000))} s)
      </Button>
    </p>
  );
}

/** Loaded with the first jump, which takes the service longer. Its space is reserved meanwhile. */
const TimeTravelBar = createLazy(
  'time travel',
  async () => (await import('./time-travel/time-travel-bar.tsx')).TimeTravelBar,
  <div class="travel-room" />,
);
const History = createLazy(
  'the history',
  async () => (await import('./statistics/statistics-view.tsx')).StatisticsView,
);
const Entries = createLazy('the entries', async () => (await import('./entries/entries-view.tsx')).EntriesView);
const Service = createLazy('the service', async () => (await import('./service/service-view.tsx')).ServiceView);
const TaskPanel = createLazy('the task', async () => (await import('./actor/task-panel.tsx')).TaskPanel);
/** Lazy because its editor is larger than the rest of the page. */
const Lab = createLazy('the policy lab', async () => (await import('./lab/lab.tsx')).Lab);

export function App() {
  useEscapeKey();
  if (locked.value) return <LockedPage />;
  const { view } = route.value;
  const topic = selected.value;
  const isMissing = isPast.value && pastProblem.value !== null && view !== 'what-if' && view !== 'service';
  return (
    <>
      <a class="skip" href="#main">
        Skip to the list
      </a>
      <Header />
      {route.value.at !== null && <TimeTravelBar />}
      <div class="notices">
        <UndoBar />
        <ActionNews />
        <Notice />
      </div>
      <div
        class={topic === null || isMissing ? 'page' : 'page with-panel'}
        style={{ '--panel': `${panelPercent.value}%` }}
        data-outdated={(!isPast.value && connection.value === 'lost') || undefined}
      >
        <main id="main" tabIndex={-1}>
          {view === 'what-if' ? (
            <Lab />
          ) : isMissing ? (
            <MissingEntry />
          ) : !shownFleet.value.loaded.value ? (
            <Loading />
          ) : (
            <List view={view} />
          )}
        </main>
        {topic !== null && !isMissing && <PanelEdge />}
        {topic !== null && !isMissing && <Panel key={`${topic.entity}${topic.id}`} {...topic} />}
      </div>
      <PrintLegend />
      <SignInDialog />
      <OperatorDialog />
      <HelpDialog />
      <Palette />
      <LiveSummary store={liveFleet} />
    </>
  );
}

const List = ({ view }: { view: Exclude<View, 'what-if'> }) =>
  ({
    workers: <WorkerList />,
    inbox: <Inbox />,
    tasks: <TaskList />,
    queues: <QueueList />,
    entries: <Entries />,
    history: <History />,
    service: <Service />,
  })[view];

/** Shown until the fleet is known. If there is a problem, a notice explains it instead. */
const Loading = () => (
  <p class="loading muted pad">
    {connectionProblem.value === null && (fleet.value === '' ? 'Connecting…' : 'Loading the fleet…')}
  </p>
);

/** Shown instead of a past state that cannot be shown: the reason, and where to go. */
function MissingEntry() {
  const newest = logRange.value?.lastSeq;
  return (
    <div class="empty">
      <h2>This entry cannot be shown</h2>
      <p>{pastProblem.value}</p>
      <p class="row buttons">
        {newest !== undefined && <Button onClick={() => navigate({ at: newest })}>Go to the newest entry</Button>}
        <Button onClick={leavePast}>Show the live state</Button>
      </p>
    </div>
  );
}

/** Width of the panel in percent of the page, stored in this browser. */
const percents = { least: 25, usual: 44, most: 75 };
const percentKey = 'stopgate.panel';
const panelPercent = signal(Number(localStorage.getItem(percentKey)) || percents.usual);

function resizePanel(percent: number): void {
  panelPercent.value = Math.round(Math.min(percents.most, Math.max(percents.least, percent)));
  localStorage.setItem(percentKey, String(panelPercent.peek()));
}

/** The movable edge between list and panel. Double-click or Enter resets it. */
function PanelEdge() {
  const percent = panelPercent.value;
  const { least, usual, most } = percents;
  return (
    // biome-ignore lint/a11y/useSemanticElements: an <hr> cannot be moved
    <div
      class="panel-edge"
      role="separator"
      tabIndex={0}
      aria-label="Width of the panel"
      aria-orientation="vertical"
      aria-controls="panel"
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuenow={percent}
      aria-valuetext={`${percent} %`}
      title="Drag or use the arrow keys; double-click to reset"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
        const { right = 0, width = 1 } = event.currentTarget.parentElement?.getBoundingClientRect() ?? {};
        resizePanel(((right - event.clientX) / width) * 100);
      }}
      onDblClick={() => resizePanel(usual)}
      onKeyDown={(event) => {
        const next = { ArrowLeft: percent + 2, ArrowRight: percent - 2, Home: most, End: least, Enter: usual }[
          event.key
        ];
        if (next === undefined) return;
        event.preventDefault();
        resizePanel(next);
      }}
    />
  );
}

function Panel({ entity, id }: { entity: 'worker' | 'task'; id: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <aside id="panel" aria-label={`${entity} ${id}`}>
      <div class="panel-head">
        <h2 ref={heading} tabIndex={-1}>
          <span class="muted">{entity}</span> <Name value={id} />
        </h2>
        <Copy value={id} />
        {/* In the past, the bar of time travel has it. */}
        {!isPast.value && <CopyMoment />}
        <Link class="close" to={noSelection} aria-label={`Close ${entity} ${id}`} title="Close (Escape)">
          ✕
        </Link>
      </div>
      {entity === 'worker' ? <WorkerPanel id={id} /> : <TaskPanel id={id} />}
    </aside>
  );
}

/** Printed at the end: the time shown, and a legend, since paper has no tooltips. */
const PrintLegend = () => (
  <dl class="print-only">
    <div>
      <dt>fleet {fleet.value}</dt>
      <dd>as of {dateTime(shownMs.value)}; ages are relative to that time.</dd>
    </div>
    {Object.entries(verdictMeanings).map(([kind, meaning]) => (
      <div key={kind} data-verdict-kind={kind}>
        <dt class="answer">
          <b>{verdictWords[kind as VerdictKind]}</b>
        </dt>
        <dd>{meaning}</dd>
      </div>
    ))}
  </dl>
);

/** Escape closes the panel and returns the focus to the actor's row. */
function useEscapeKey(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('dialog[open]') !== null) return;
      const topic = selected.peek();
      if (topic === null) return;
      navigate(noSelection);
      requestAnimationFrame(() =>
        document.querySelector<HTMLElement>(`tr[data-id="${CSS.escape(topic.id)}"]`)?.focus({ preventScroll: true }),
      );
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
