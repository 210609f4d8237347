/** The page: a list on one side, the actor that was opened on the other. */
import { useEffect, useRef } from 'preact/hooks';
import { fleet, locked } from './api.ts';
import { live } from './connection.ts';
import { Header, leave, Notice } from './header.tsx';
import { Queues, Tasks, Workers } from './lists.tsx';
import { OperatorQuestion } from './operator.tsx';
import { isPast, pastProblem, shown } from './past.ts';
import { follow, hrefOf, place, selected } from './place.ts';
import { SignIn } from './sign-in.tsx';
import { Summary } from './summary.tsx';
import { TaskPanel } from './task-view.tsx';
import { Name } from './text.tsx';
import { NoMoment, TravelBar } from './travel.tsx';
import { WhatIf } from './what-if.tsx';
import { WorkerPanel } from './worker-view.tsx';

export function App() {
  useEscape();
  if (locked.value) return <SignIn />;
  const { view } = place.value;
  const topic = selected.value;
  const noMoment = isPast.value && pastProblem.value !== null && view !== 'what-if';
  return (
    <>
      <a class="skip" href="#main">
        Skip to the list
      </a>
      <Header />
      <TravelBar />
      <Notice />
      <div class={topic === null || noMoment ? 'page' : 'page with-panel'}>
        <main id="main" tabIndex={-1}>
          {view === 'what-if' ? (
            <WhatIf />
          ) : noMoment ? (
            <NoMoment />
          ) : !shown.value.loaded.value ? (
            <Waiting />
          ) : (
            <List view={view} />
          )}
        </main>
        {topic !== null && !noMoment && <Panel key={`${topic.entity}${topic.id}`} {...topic} />}
      </div>
      <SignIn />
      <OperatorQuestion />
      <Summary store={live} />
    </>
  );
}

const List = ({ view }: { view: 'workers' | 'tasks' | 'queues' }) =>
  view === 'workers' ? <Workers /> : view === 'tasks' ? <Tasks /> : <Queues />;

const Waiting = () => <p class="muted pad">{fleet.value === '' ? 'Asking the service…' : 'Reading the fleet…'}</p>;

function Panel({ entity, id }: { entity: 'worker' | 'task'; id: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const closed = { worker: null, task: null };
  return (
    <aside aria-label={`${entity} ${id}`}>
      <div class="panel-head">
        <h2 ref={heading} tabIndex={-1}>
          <span class="muted">{entity}</span> <Name value={id} />
        </h2>
        <a
          class="close"
          href={hrefOf(closed)}
          aria-label={`Close ${entity} ${id}`}
          title="Close (Escape)"
          onClick={(event) => follow(event, closed)}
        >
          ✕
        </a>
      </div>
      {entity === 'worker' ? <WorkerPanel id={id} /> : <TaskPanel id={id} />}
    </aside>
  );
}

function useEscape(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('dialog[open]') !== null) return;
      const topic = selected.peek();
      if (topic === null) return;
      leave();
      // Back to the row that was left, where it is in sight.
      requestAnimationFrame(() =>
        document.querySelector<HTMLElement>(`tr[data-id="${CSS.escape(topic.id)}"]`)?.focus({ preventScroll: true }),
      );
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
