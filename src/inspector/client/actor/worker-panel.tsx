/** The panel of a worker: its state and the reason, history, chart, plan and tasks. */
import type { WorkerView } from '../../../../machines/index.ts';
import { reasonThen } from '../../../../machines/replay/reason-then.ts';
import { sentenceOfDecision } from '../../../../machines/replay/sentence.ts';
import type { TakenTransition } from '../../chart/taken.ts';
import { apiPath } from '../data/api.ts';
import { hello } from '../data/connection.ts';
import { isPast, shownFleet, shownMs, shownView } from '../data/past.ts';
import { AnswerBox } from '../operator/answer-box.tsx';
import { EscalationNote, OperatorButtons } from '../operator/escalation-note.tsx';
import { limitUsedUp } from '../operator/grant.ts';
import { PauseNote, usePause } from '../operator/pause.tsx';
import { InputRequests } from '../operator/questions.tsx';
import { suggestPrompts } from '../operator/suggestions.ts';
import { route } from '../route.ts';
import { Link } from '../ui/controls.tsx';
import { duration, plural, usedText } from '../ui/format.ts';
import { Ago, Name, StateMark, Text } from '../ui/text.tsx';
import type { Held } from '../ui/use-held.ts';
import { Why } from './attempts.tsx';
import {
  ActorChart,
  ActorLinks,
  Facts,
  HeldArea,
  PlanList,
  RefusedEntries,
  Tabs,
  Timeline,
  UnknownActor,
  useHeldView,
} from './panel.tsx';
import { describeBudget, type Timer, timersOf } from './timers.ts';

function Timers({ view }: { view: WorkerView }) {
  const timers = timersOf(view, {
    staleAfterMs: hello.value?.staleAfterMs ?? 120_001,
    idleSinceMs: shownFleet.value.workers.get(view.worker)?.idleSinceMs ?? shownMs.value - view.idle.ms,
    nowMs: shownMs.peek(),
  });
  if (timers.length === 0) return null;
  return (
    <section aria-label="Timers">
      <h3>Timers {isPast.value && <span class="muted">at that time</span>}</h3>
      <ul class="timers">
        {timers.map((timer) => (
          <TimerLine key={timer.name} {...timer} />
        ))}
      </ul>
    </section>
  );
}

function TimerLine({ name, outcome, fromMs, untilMs }: Timer) {
  // The page's clock may lag slightly behind the entry's.
  const now = Math.max(fromMs, shownMs.value);
  const leftMs = untilMs === null ? null : Math.max(0, untilMs - now);
  return (
    <li data-timer={name}>
      <Text class="timer-name" value={name} max={60} />
      <span class="timer-left age strong">
        {leftMs === null ? `for ${duration(now - fromMs)}` : leftMs === 0 ? 'now' : `${duration(leftMs + 999)} left`}
      </span>
      {untilMs !== null && <Bar part={(now - fromMs) / Math.max(1, untilMs - fromMs)} />}
      <span class="muted">{outcome}</span>
    </li>
  );
}

const Bar = ({ part }: { part: number }) => (
  <span class="bar" aria-hidden="true">
    <i style={{ width: `${Math.min(1, Math.max(0, part)) * 100}%` }} />
  </span>
);

type BudgetsView = Partial<Pick<WorkerView, 'budgets'>> & Pick<WorkerView, 'usage'>;

/** `budgets` is absent in views of a service without budgets. */
function Budgets({ view: { budgets = [], usage } }: { view: BudgetsView }) {
  if (budgets.length === 0) return null;
  return (
    <section aria-label="Budgets">
      <h3>Budgets</h3>
      <ul class="timers">
        {budgets.map((line) => (
          <li key={`${line.per} ${line.kind}`} data-budget={`${line.kind} per ${line.per}`}>
            <span class="timer-name">
              {line.kind} per {line.per}
            </span>
            <span class="timer-left age strong">{describeBudget(line, usage)}</span>
            <Bar part={line.limit === 0 ? 1 : line.used / line.limit} />
            {line.used >= line.limit && <span class="muted">used up: stops are not judged</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The fields of a worker, as a list of facts. */
function WorkerFacts({ id, view: { retry, usage, ...view } }: { id: string; view: WorkerView }) {
  const { workers, ids } = shownFleet.value;
  void ids.value;
  const children = [...workers.values()].filter((row) => row.parent === id).map((row) => row.id);
  const labels = Object.entries(view.labels).map(
    ([name, value]) => [name, <Text key={name} value={value} max={120} />] as const,
  );
  return (
    <Facts
      facts={[
        ['Agent', view.agent === null ? 'unknown' : <Name value={view.agent} />],
        ['Policy', <Name key="policy" value={view.policy} />],
        ['Queue', <Name key="queue" value={view.queue} />],
        ['Retries', `${retry.count} ${retry.max === null ? '(no cap)' : `of ${retry.max}`}`],
        ['Tasks', view.tasks.length > 0 && <ActorLinks entity="task" ids={view.tasks} />],
        ['Parent', view.parent !== null && <ActorLinks entity="worker" ids={[view.parent]} />],
        ['Children', children.length > 0 && <ActorLinks entity="worker" ids={children} />],
        ['Profile', view.profile !== null && <Name value={view.profile} />],
        ['Folder', view.cwd !== null && <Text value={view.cwd} max={120} />],
        ['Used', usage !== undefined && (usedText(usage.session) ?? false)],
        ['Tools used', view.toolCount],
        ['Files modified', filesText(view.filesModified)],
        ['Person', view.interactive === false && 'nobody is at the session'],
        ['Keep-alives', view.keepAlives > 0 && view.keepAlives],
        ['Input', view.awaitsInput && 'waiting for a person'],
        ...labels,
      ]}
    />
  );
}

function filesText({ count, unknown }: WorkerView['filesModified']): string {
  if (!unknown) return String(count);
  return count === 0 ? 'A tool may have changed any file' : `${count} by name; a tool may have changed any file`;
}

/** Background work of the agent, and how long its stops wait for it. */
function BackgroundWork({ background }: { background: WorkerView['background'] }) {
  if (background.length === 0) return null;
  return (
    <section aria-label="Background work">
      <h3>
        Background work <span class="muted">{plural(background.length, 'task')}</span>
      </h3>
      <ul class="background">
        {background.map((work) => (
          <BackgroundLine key={work.id} work={work} />
        ))}
      </ul>
    </section>
  );
}

function BackgroundLine({ work }: { work: WorkerView['background'][number] }) {
  const { id, kind, command, since, ignored } = work;
  return (
    <li data-work={id} data-ignored={ignored || undefined}>
      <Text value={command ?? kind ?? id} max={160} />
      <span class="muted">
        {command !== null && kind !== null && (
          <>
            <Text value={kind} max={60} /> ·{' '}
          </>
        )}
        started <Ago thenMs={Date.parse(since)} /> ·{' '}
        {ignored ? 'ignored: stops do not wait for it' : <Wait {...work} />}
      </span>
    </li>
  );
}

function Wait({ until }: Pick<WorkerView['background'][number], 'until'>) {
  if (until === null) return 'stops wait for it indefinitely';
  const leftMs = Date.parse(until) - shownMs.value;
  if (leftMs <= 0) return 'overdue: stops no longer wait for it';
  return (
    <>
      stops wait for it, <span class="age strong">{duration(leftMs + 999)} left</span>
    </>
  );
}

type Props = { readonly id: string; readonly view: WorkerView };

export function WorkerPanel({ id }: { id: string }) {
  const view = shownView.value as WorkerView | null | undefined;
  if (view === undefined) return <p class="muted pad">Loading…</p>;
  if (view === null) return <UnknownActor entity="worker" id={id} />;
  return <KnownWorker id={id} view={view} />;
}

function KnownWorker({ id, view }: Props) {
  const held = useHeldView({ entity: 'worker', id }, view, route.value.tab === 'plan' ? planOf : whyOf);
  const { state, presence, escalation, sentence, inputs } = held.shown;
  const { tab } = route.value;
  const pause = usePause(held.shown.paused);
  const note = presence === 'active' ? waitNote(held.shown) : presence;
  return (
    <>
      <div class="row standing">
        <p class="row lead" data-waiting={waitNote(held.shown) !== null || undefined}>
          <StateMark state={state} note={state === 'stopped' ? null : note} />
          <span class="muted">
            last seen <Ago thenMs={Date.parse(view.lastSeen)} />
          </span>
        </p>
        <OperatorButtons
          entity="worker"
          id={id}
          escalation={escalation}
          ended={state === 'stopped'}
          hasAnswer
          pause={{ isPaused: pause !== null, isPausable: held.shown.ended === null }}
        />
      </div>
      {view.title !== null && <Text as="p" class="muted" value={view.title} max={200} />}
      {pause !== null && <PauseNote pause={pause} />}
      {/* Questions to a person are shown below instead, and so is the last decision. */}
      {(tab !== 'why' || (escalation === null && inputs.length === 0 && !saysDecision(held.shown))) && (
        <Text as="p" class="sentence" value={sentence} />
      )}
      <Tabs
        sections={{
          why: { title: 'Why', content: () => <WhySection id={id} view={view} held={held} /> },
          timeline: { title: 'Timeline', content: () => <History id={id} held={held} /> },
          chart: { title: 'Chart', content: () => <ChartSection view={view} /> },
          plan: { title: 'Plan and tasks', content: () => <PlanSection id={id} held={held} /> },
        }}
      />
    </>
  );
}

/** Whether the sentence about the worker is what the card of its last decision says. */
const saysDecision = ({ sentence, lastDecision }: WorkerView): boolean =>
  lastDecision !== null &&
  (sentence === reasonThen(lastDecision) ||
    (lastDecision.cause === 'complete' && sentence === sentenceOfDecision(lastDecision)));

/** Says what the worker waits for, in the words of the worker list. Null if it does not wait. */
function waitNote({ state, awaitsInput, standing, attempt }: WorkerView): string | null {
  if (state === 'stopped') return null;
  if (state === 'idle' && standing.waits.some(({ kind }) => kind === 'background')) return 'waiting';
  return awaitsInput ? 'asks' : attempt?.waitsFor === 'hold' ? 'held' : null;
}

type HeldProps = { readonly id: string; readonly held: Held<WorkerView> };

function WhySection({ id, view: { inputs: live, budgets }, held }: Props & HeldProps) {
  const { shown: view, isUsed } = held;
  return (
    <HeldArea held={held}>
      <InputRequests {...view} live={live} isUsed={isUsed} />
      <EscalationNote
        id={id}
        escalation={view.escalation}
        resolution={view.resolution}
        answer={<AnswerBox item={{ entity: 'worker', id }} choices={suggestPrompts(view)} over={limitUsedUp(view)} />}
      />
      {view.attempt !== null && <Timers view={view} />}
      <Why id={id} view={view} />
      {view.attempt === null && <Timers view={view} />}
      <BackgroundWork background={view.background} />
      <Budgets view={{ budgets, usage: view.usage }} />
      <RefusedEntries refused={view.refused} />
    </HeldArea>
  );
}

/** The content of the section "why" and the line above it. Answered requests keep their places anyway. */
const whyOf = ({ inputs, escalation, resolution, attempt, lastDecision, refused, ...view }: WorkerView) => [
  view.state,
  view.presence,
  inputs.map(({ seq }) => seq),
  escalation,
  resolution,
  attempt,
  lastDecision?.seq,
  refused,
  view.tasks.length > 0,
  view.idle.limitMs,
  view.paused,
  view.background,
];

/** The content of the section "plan". */
const planOf = (view: WorkerView) => [whyOf(view), view.plan, view.tasks];

const History = ({ id, held }: HeldProps) => (
  <HeldArea held={held} isQuiet>
    <Timeline entity="worker" id={id} />
    <p class="row foot">
      <Link to={{ view: 'entries', q: `worker:${id}` }}>In all entries</Link>{' '}
      <a href={apiPath(`history/${id}.jsonl`)} download>
        Download history
      </a>{' '}
      <span class="muted">for “stopgate replay”</span>
    </p>
  </HeldArea>
);

const presenceMoveOf = ({ presence, presenceFrom }: WorkerView): TakenTransition | null =>
  presenceFrom === null ? null : { from: presenceFrom, to: presence, event: 'presence.changed' };

const ChartSection = ({ view }: Pick<Props, 'view'>) => (
  <ActorChart
    key={view.worker}
    id={view.worker}
    machine="worker"
    states={[view.state, view.presence]}
    transition={view.lastTransition && { ...view.lastTransition, guard: view.lastDecision?.verdicts.at(-1)?.guard }}
    beside={presenceMoveOf(view)}
  />
);

const PlanSection = ({ id, held }: HeldProps) => (
  <HeldArea held={held}>
    {held.shown.plan.length > 0 ? <PlanList plan={held.shown.plan} /> : <p class="muted">It has no plan.</p>}
    <WorkerFacts id={id} view={held.shown} />
  </HeldArea>
);
