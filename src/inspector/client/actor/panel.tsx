/** Parts shared by the panels of workers and tasks: tabs, facts, plans and links. */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Plan, WorkerView } from '../../../../machines/index.ts';
import { isId } from '../../../../machines/values/id.ts';
import type { Topic } from '../../messages.ts';
import { focus, head } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { storedSeq, targetKey } from '../operator/settle.ts';
import { navigate, route, selection, type Tab, tabs } from '../route.ts';
import { Button, createLazy, Link } from '../ui/controls.tsx';
import { time } from '../ui/format.ts';
import { Name, Text } from '../ui/text.tsx';
import { type Held, useHeld } from '../ui/use-held.ts';

// Lazily loaded parts. The drawings of the charts alone are a sixth of the page.
export const ActorChart = createLazy('the chart', async () => (await import('../chart/machine-charts.tsx')).ActorChart);
export const Timeline = createLazy(
  'the timeline',
  async () => (await import('./timeline.tsx')).Timeline,
  <p class="muted timeline-room">Loading…</p>,
);

type Section = { readonly title: string; readonly content: () => ComponentChildren };

export function Tabs({ sections }: { sections: Readonly<Record<Tab, Section>> }) {
  const { tab } = route.value;
  const pick = (next: Tab) => {
    navigate({ tab: next }, 'replace');
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`#tab-${next}`)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    pick(tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length] ?? 'why');
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Sections" onKeyDown={onKeyDown}>
        {tabs.map((tabName) => (
          <Button
            key={tabName}
            id={`tab-${tabName}`}
            role="tab"
            aria-selected={tabName === tab}
            aria-controls="section"
            tabIndex={tabName === tab ? 0 : -1}
            onClick={() => navigate({ tab: tabName }, 'replace')}
          >
            {sections[tabName].title}
          </Button>
        ))}
      </div>
      <div id="section" class="section" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {sections[tab].content()}
      </div>
    </>
  );
}

/** A list of names and values. Null and false values are left out. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) => (
  <dl class="facts">
    {facts.map(([name, value], index) =>
      value === null || value === false ? null : (
        <div key={index}>
          <dt>
            <bdi>{name.slice(0, 60)}</bdi>
          </dt>
          <dd>{value}</dd>
        </div>
      ),
    )}
  </dl>
);

const linksMax = 12;

/** Links to workers or tasks. */
export const ActorLinks = ({ entity, ids }: { entity: 'worker' | 'task'; ids: readonly string[] }) => (
  <span class="row links">
    {ids.slice(0, linksMax).map((id) => (
      <Link key={id} to={selection(entity, id)}>
        <Name value={id} />
      </Link>
    ))}
    {ids.length > linksMax && <span class="muted">and {ids.length - linksMax} more</span>}
  </span>
);

/** Shown for an actor without entries: why, and what will make it appear. */
export const UnknownActor = ({ entity, id }: { entity: 'worker' | 'task'; id: string }) => (
  <div class="pad">
    <p>
      There is no {entity}{' '}
      <b>
        <Name value={id} />
      </b>
      {isPast.value ? ' at this entry.' : ' yet.'}
    </p>
    <p class="muted">{hintFor(id)}</p>
  </div>
);

function hintFor(id: string): string {
  if (!isId(id)) return 'This is not an id: ids consist of letters, digits, _ and -, at most 128.';
  if (isPast.value) return 'It appears with its first entry: go to a later one.';
  return 'It appears here with its first entry.';
}

const doneStatuses: ReadonlySet<string> = new Set(['done', 'completed', 'cancelled']);
const isDone = ({ status }: { status: string }) => doneStatuses.has(status);
const stepsMax = 40;

/** Whether the steps belong to several tasks. Each step then shows its task. */
const isOfSeveral = (plan: Plan): boolean => plan.some(({ task }) => task !== plan[0]?.task);

/** The steps of a plan, and how many are done. */
export const PlanList = ({ plan }: { plan: Plan }) => (
  <section aria-label="Plan">
    <h3>
      Plan <span class="muted">{`${plan.filter(isDone).length} of ${plan.length} done`}</span>
    </h3>
    <ul class="plan">
      {plan.slice(0, stepsMax).map((step, index) => (
        <li key={step.step ?? index} data-done={isDone(step)}>
          <span aria-hidden="true">{isDone(step) ? '✓' : step.status === 'in_progress' ? '▸' : '○'}</span>
          <Text value={step.title} max={160} />
          {step.task !== undefined && isOfSeveral(plan) && <Text class="muted" value={step.task} max={60} />}
          <Text class="muted" value={step.status.replaceAll('_', ' ')} max={24} />
        </li>
      ))}
    </ul>
    {plan.length > stepsMax && <p class="muted">and {plan.length - stepsMax} more steps</p>}
  </section>
);

/** Entries that the fold refused. They are in the log but changed nothing. */
export const RefusedEntries = ({ refused }: { refused: WorkerView['refused'] }) =>
  refused.length === 0 ? null : (
    <section aria-label="Refused entries">
      <h3>Refused entries</h3>
      <ul class="plain">
        {refused.map((refusal, index) => (
          <li key={index}>
            <time>{time(Date.parse(refusal.at))}</time> <b>{refusal.type}</b> <Text value={refusal.reason} />
          </li>
        ))}
      </ul>
    </section>
  );

/**
 * Holds a view while someone uses its section, so that new content waits. Changes by this page's operator are shown at
 * once.
 * @param contentOf the visible part of the view; equal contents move nothing
 */
export function useHeldView<View>(topic: Topic, view: View, contentOf: (view: View) => unknown): Held<View> {
  const newestSeq = useNewestSeq(topic);
  const ownSeq = storedSeq(targetKey(topic));
  // Actions before the panel was opened have been seen.
  const { current: seen } = useRef({ ownSeq, seq: newestSeq });
  const isOwnUnseen = ownSeq !== seen.ownSeq && seen.seq < ownSeq;
  const text = (shownView: View) => JSON.stringify(contentOf(shownView));
  const held = useHeld(view, text, isPast.value || isOwnUnseen);
  if (held.shown === view) seen.seq = newestSeq;
  return held;
}

/** The newest entry about the actor that the page has received. If entries were omitted, the newest of the fleet. */
function useNewestSeq({ id }: Topic): number {
  const newest = useRef(0);
  const news = focus.value;
  if (news?.id === id)
    newest.current = Math.max(newest.current, news.entries.at(-1)?.seq ?? 0, news.omitted > 0 ? head.peek().seq : 0);
  return newest.current;
}

type AreaProps = {
  readonly held: Pick<Held<unknown>, 'withheld' | 'area'>;
  /** Set if the content itself shows that something new waits. */
  readonly isQuiet?: boolean;
  readonly children: ComponentChildren;
};

/** A section that holds its content while someone points at it. */
export const HeldArea = ({ held: { withheld, area }, isQuiet = false, children }: AreaProps) => (
  <div class="section" {...area}>
    <p class="withheld" role="status" hidden={withheld === 0 || isQuiet}>
      <span>{withheld} new, shown when you leave</span>
    </p>
    {children}
  </div>
);
