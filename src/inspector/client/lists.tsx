/** Workers, tasks and queues as tables, with what narrows them down; what is shown and in which order is in the address. */
import { useEffect, useRef } from 'preact/hooks';
import { presences } from '../../../machines/values/states.ts';
import { Cells } from './cells.tsx';
import { CountsRow, FleetChart } from './chart-place.tsx';
import { chosen } from './chosen.ts';
import { Empty } from './empty.tsx';
import type { FleetStore } from './fleet-store.ts';
import { type Column, Grid } from './grid.tsx';
import { presenceOf, StateMark, stateOf } from './marks.tsx';
import { shown, shownMs } from './past.ts';
import { follow, go, hrefOf, place, selected } from './place.ts';
import { type QueueRow, q, type TaskRow, t, type WorkerRow, w } from './rows.ts';
import { ago, count, duration, plural } from './terms.ts';
import { Name } from './text.tsx';

export function Workers() {
  const store = shown.value;
  void store.names.value;
  if (store.loaded.value && store.workers.size === 0) return <Empty />;
  return (
    <section aria-label="Workers">
      {selected.value === null && <FleetChart machine="worker" />}
      <CountsRow machine="worker" />
      <Filters
        total={store.workers.size}
        noun="worker"
        selects={[
          { name: 'presence', any: 'any presence', options: presences },
          { name: 'agent', any: 'any agent', options: valuesOf(store.workers.values(), w.agent) },
          { name: 'queue', any: 'any queue', options: valuesOf(store.workers.values(), w.queue) },
        ]}
      />
      <Cells />
      <Grid
        label="Workers"
        columns={workerColumns}
        ids={chosen.value}
        rowOf={(id) => rowIn(store, store.workers, id)}
        isOpened={(id) => place.value.worker === id}
        open={(id) => go({ worker: id, task: null })}
      />
    </section>
  );
}

const workerColumns: readonly Column<WorkerRow>[] = [
  { key: 'worker', title: 'Worker', render: (row) => <Link entity="worker" id={row[w.name]} /> },
  {
    key: 'state',
    title: 'State',
    render: (row) => <StateMark state={stateOf(row[w.state])} note={waiting(row)} />,
  },
  {
    key: 'presence',
    title: 'Presence',
    rank: 3,
    render: (row) => <span data-presence={presenceOf(row[w.presence])}>{presenceOf(row[w.presence])}</span>,
  },
  {
    key: 'retries',
    title: 'Retries',
    rank: 2,
    render: (row) =>
      row[w.retryCount] === 0 ? (
        <Nothing />
      ) : (
        `${row[w.retryCount]}${row[w.retryMax] === null ? '' : ` of ${row[w.retryMax]}`}`
      ),
  },
  { key: 'idle', title: 'Idle', rank: 2, render: (row) => <Idle row={row} /> },
  {
    key: 'task',
    title: 'Task',
    rank: 2,
    render: (row) =>
      row[w.task] === null ? (
        <Nothing />
      ) : (
        <>
          <Link entity="task" id={row[w.task] ?? ''} />
          {row[w.tasksHeld] > 1 && <span class="muted"> +{row[w.tasksHeld] - 1}</span>}
        </>
      ),
  },
  {
    key: 'agent',
    title: 'Agent',
    rank: 3,
    render: (row) => (row[w.agent] === null ? <Nothing /> : <Name value={row[w.agent] ?? ''} />),
  },
  {
    key: 'decision',
    title: 'Last decision',
    rank: 2,
    render: (row) =>
      row[w.lastDecision] === null ? (
        <Nothing />
      ) : (
        <span class="answer" data-answer={row[w.lastDecision]}>
          <b>{row[w.lastDecision]}</b> · {row[w.lastCause]} <Ago thenMs={row[w.lastDecisionMs] ?? 0} />
        </span>
      ),
  },
  {
    key: 'seen',
    title: 'Last heard',
    rank: 3,
    render: (row) => <Ago thenMs={row[w.lastSeenMs]} />,
  },
];

/** By itself, so that the clock's second renders these words and not the rows around them. */
const Ago = ({ thenMs }: { thenMs: number }) => <span class="muted">{ago(thenMs, shownMs.value)}</span>;

function waiting(row: WorkerRow): string | null {
  if (row[w.acknowledged] === 1) return 'looked after';
  const waitsFor = row[w.waitsFor];
  if (waitsFor === null) return null;
  const left =
    row[w.waitUntilMs] === null ? '' : ` ${duration(Math.max(0, (row[w.waitUntilMs] ?? 0) - shownMs.value))}`;
  return `${waitsFor.slice(0, 40)}${left}`;
}

function Idle({ row }: { row: WorkerRow }) {
  const since = row[w.idleSinceMs];
  if (since === null || stateOf(row[w.state]) === 'stopped') return <Nothing />;
  const ms = Math.max(0, shownMs.value - since);
  const limit = row[w.idleLimitMs];
  return (
    <span>
      {duration(ms)}
      {limit !== null && <span class="muted"> of {duration(limit)}</span>}
    </span>
  );
}

export function Tasks() {
  const store = shown.value;
  void store.names.value;
  if (store.loaded.value && store.tasks.size === 0)
    return (
      <EmptyList
        words="No tasks yet. One is made by an entry:"
        command={`npx stopgate publish task T-1 task.created '{"title":"Fix the login"}'`}
      />
    );
  return (
    <section aria-label="Tasks">
      {selected.value === null && <FleetChart machine="task" />}
      <CountsRow machine="task" />
      <Filters
        total={store.tasks.size}
        noun="task"
        selects={[{ name: 'queue', any: 'any queue', options: valuesOf(store.tasks.values(), t.queue) }]}
      />
      <Grid
        label="Tasks"
        columns={taskColumns}
        ids={chosen.value}
        rowOf={(id) => rowIn(store, store.tasks, id)}
        isOpened={(id) => place.value.task === id}
        open={(id) => go({ worker: null, task: id })}
      />
    </section>
  );
}

const taskColumns: readonly Column<TaskRow>[] = [
  { key: 'task', title: 'Task', render: (row) => <Link entity="task" id={row[t.name]} /> },
  { key: 'state', title: 'State', render: (row) => <StateMark state={stateOf(row[t.state])} note={row[t.outcome]} /> },
  {
    key: 'title',
    title: 'Title',
    rank: 2,
    render: (row) => (row[t.title] === null ? <Nothing /> : <Name value={row[t.title] ?? ''} />),
  },
  {
    key: 'worker',
    title: 'Worker',
    rank: 2,
    render: (row) => (row[t.worker] === null ? <Nothing /> : <Link entity="worker" id={row[t.worker] ?? ''} />),
  },
  {
    key: 'queue',
    title: 'Queue',
    rank: 3,
    render: (row) => (row[t.queue] === null ? <Nothing /> : <Name value={row[t.queue] ?? ''} />),
  },
  {
    key: 'iteration',
    title: 'Iteration',
    rank: 3,
    render: (row) => (row[t.iteration] === null ? <Nothing /> : `${row[t.iteration]} of ${row[t.maxIterations]}`),
  },
  { key: 'hooks', title: 'Hooks', rank: 3, render: (row) => (row[t.hooks] === 0 ? <Nothing /> : row[t.hooks]) },
];

export function Queues() {
  const store = shown.value;
  void store.names.value;
  return (
    <section aria-label="Queues">
      <Filters total={store.queues.size} noun="queue" selects={[]} />
      <Grid
        label="Queues"
        columns={queueColumns}
        ids={chosen.value}
        rowOf={(id) => rowIn(store, store.queues, id)}
        isOpened={() => false}
        open={(id) => go({ view: 'tasks', queue: id })}
      />
    </section>
  );
}

const queueColumns: readonly Column<QueueRow>[] = [
  {
    key: 'queue',
    title: 'Queue',
    render: (row) => {
      const change = { view: 'tasks', queue: row[q.name] } as const;
      return (
        <a href={hrefOf(change)} tabIndex={-1} onClick={(event) => follow(event, change)}>
          <Name value={row[q.name]} />
        </a>
      );
    },
  },
  { key: 'pending', title: 'Tasks that wait', render: (row) => count(row[q.pending]) },
  { key: 'reported', title: 'of these reported from elsewhere', rank: 2, render: (row) => count(row[q.reported]) },
];

function Link({ entity, id }: { entity: 'worker' | 'task'; id: string }) {
  const change = entity === 'worker' ? { worker: id, task: null } : { worker: null, task: id };
  return (
    <a href={hrefOf(change)} tabIndex={-1} onClick={(event) => follow(event, change)}>
      <Name value={id} />
    </a>
  );
}

const Nothing = () => (
  <span class="muted" aria-hidden="true">
    –
  </span>
);

/** Called by the table while it renders, so that of all here the table alone is rendered again when rows change. */
function rowIn<Row>({ version }: FleetStore, rows: ReadonlyMap<string, Row>, id: string): Row | undefined {
  void version.value;
  return rows.get(id);
}

type Select = {
  readonly name: 'presence' | 'agent' | 'queue';
  readonly any: string;
  readonly options: readonly string[];
};

function Filters({ total, noun, selects }: { total: number; noun: string; selects: readonly Select[] }) {
  const search = useRef<HTMLInputElement>(null);
  const here = place.value;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const isFiltered = [here.q, here.state, here.presence, here.agent, here.queue].some((it) => it !== '');
  return (
    <search class="filters">
      <input
        ref={search}
        type="search"
        aria-label={`Search ${noun}s`}
        placeholder={`Search ${noun}s   /`}
        value={here.q}
        onInput={(event) => go({ q: event.currentTarget.value }, 'quietly')}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || here.q === '') return;
          event.stopPropagation();
          go({ q: '' }, 'quietly');
        }}
      />
      {selects.map(({ name, any, options }) =>
        options.length < 2 && here[name] === '' ? null : (
          <select
            key={name}
            aria-label={name}
            value={here[name]}
            onChange={(event) => go({ [name]: event.currentTarget.value })}
          >
            <option value="">{any}</option>
            {[...new Set([...options, ...(here[name] === '' ? [] : [here[name]])])].map((it) => (
              <option key={it} value={it}>
                {it}
              </option>
            ))}
          </select>
        ),
      )}
      <span class="muted shown">
        {isFiltered ? `${count(chosen.value.length)} of ${plural(total, noun)}` : plural(total, noun)}
      </span>
      {isFiltered && (
        <button type="button" class="link" onClick={() => go({ q: '', state: '', presence: '', agent: '', queue: '' })}>
          Show all
        </button>
      )}
    </search>
  );
}

const valuesMax = 100;
/** The values that a column has, for a choice. */
function valuesOf(rows: Iterable<readonly unknown[]>, index: number): string[] {
  const found = new Set<string>();
  for (const row of rows) {
    const value = row[index];
    if (typeof value === 'string') found.add(value);
    if (found.size >= valuesMax) break;
  }
  return [...found].sort();
}

const EmptyList = ({ words, command }: { words: string; command: string }) => (
  <div class="empty">
    <p>{words}</p>
    <pre>{command}</pre>
  </div>
);
