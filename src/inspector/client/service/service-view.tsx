/** The service view: its health in one sentence, then a table for each part. Unknown values are shown as such. */
import { useEffect, useState } from 'preact/hooks';
import type { LimitLine, ReplicaLine, RunnerLine, ServiceReport } from '../../service-messages.ts';
import { fleet, get } from '../data/api.ts';
import { liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { Link } from '../ui/controls.tsx';
import { bytes, count, dateTime, duration, localTime, plural } from '../ui/format.ts';
import { Name, Text } from '../ui/text.tsx';
import { concernsOf, describeJudging, isNear, nearShare, shareOf } from './standing.ts';
import { DeadEntries, Log, percent, Store, Table, Unknown } from './stored.tsx';
import './service.css';

/** The service builds the report at most once a second for all pages. */
const refreshMs = 2_000;

/** Loads the service's report, and the error if it cannot be loaded. */
function useReport() {
  const [report, setReport] = useState<ServiceReport | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    if (fleet.value === '') return;
    const asked = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        if (!document.hidden) setReport(await get<ServiceReport>('service', asked.signal));
        setProblem(null);
      } catch (error) {
        setProblem((error as Error).message);
      }
      if (!asked.signal.aborted) timer = setTimeout(() => void load(), refreshMs);
    };
    void load();
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [fleet.value]);
  return { report, problem };
}

export function ServiceView() {
  const { report, problem } = useReport();
  return (
    <section class="service" aria-label="The service">
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
          {report !== null && `. The report below is from ${dateTime(report.nowMs)}.`}
        </p>
      )}
      {isPast.value && <p class="muted">This is the service as it is now. The log does not record its past.</p>}
      {report === null ? problem === null && <p class="muted pad">Asking the service…</p> : <Report report={report} />}
    </section>
  );
}

type Shown = { readonly report: ServiceReport };

const Report = ({ report }: Shown) => (
  <>
    <Standing report={report} />
    <div class="parts">
      <div>
        <Replicas report={report} />
        <Log report={report} />
        <Limits report={report} />
      </div>
      <div>
        <Nats report={report} />
        <Runners report={report} />
        <Store report={report} />
        <Policies report={report} />
      </div>
    </div>
    <DeadEntries report={report} />
  </>
);

function Standing({ report }: Shown) {
  const concerns = concernsOf(report);
  return (
    <div class="standing-service" data-well={concerns.length === 0 || undefined}>
      {concerns.length === 0 ? (
        <p class="sentence">
          <b>All is well.</b> {describeJudging(report)}
        </p>
      ) : (
        <>
          <p class="sentence">
            <b>{plural(concerns.length, 'thing')} to look at</b>
          </p>
          <ul>
            {concerns.map((concern) => (
              <Text key={concern} as="li" value={concern} />
            ))}
          </ul>
        </>
      )}
      <p class="muted">
        stopgate {report.version}, replica <Name value={report.replica} />, at {dateTime(report.nowMs)}
      </p>
    </div>
  );
}

const replicaWords: Readonly<Record<ReplicaLine['state'], string>> = {
  judging: 'judges',
  behind: 'behind',
  'not-judging': 'judges nothing',
  silent: 'silent',
  unknown: 'not known',
};

const Replicas = ({ report: { replicas, nowMs } }: Shown) => (
  <Table
    title="Replicas"
    note={
      <>
        {replicas.length > 1 &&
          'There is no leader: each judges its share of the attempts, and takes over from a replica that is gone.'}
        {replicas.map(({ name, duties }) => duties.length > 0 && <Duties key={name} name={name} duties={duties} />)}
      </>
    }
    heads={['Replica', 'State', '#Behind', '#Lag', '#Member for']}
    rows={replicas.map(({ name, isSelf, state, behind, behindMs, joinedMs, heardMs }) => ({
      key: name,
      isBad: state === 'silent' || state === 'not-judging',
      cells: [
        <>
          <Name value={name} /> {isSelf && <span class="tag">here</span>}
        </>,
        <>
          {replicaWords[state]}
          {state === 'silent' && heardMs !== null && ` for ${duration(nowMs - heardMs)}`}
        </>,
        behind === null ? <Unknown /> : plural(behind, 'entry', 'entries'),
        behindMs === null ? <Unknown /> : duration(behindMs),
        joinedMs === 0 ? <Unknown /> : duration(nowMs - joinedMs),
      ],
    }))}
  />
);

const Duties = ({ name, duties }: { name: string; duties: readonly string[] }) => (
  <>
    {' '}
    <Name value={name} />{' '}
    {duties.map((duty) => (duty === 'snapshots' ? 'takes the snapshots' : 'trims the log')).join(' and ')}.
  </>
);

const Nats = ({ report: { nats } }: Shown) => (
  <Table
    title="NATS"
    note={
      <>
        <Name value={nats.address ?? 'not connected'} />
        {nats.version !== null && `, nats-server ${nats.version}`}
      </>
    }
    heads={['Connection', 'State', '#For', '#Breaks']}
    rows={nats.connections.map(({ name, isConnected, forMs, breaks }) => ({
      key: name,
      isBad: !isConnected,
      cells: [name, isConnected ? 'connected' : 'broken, reconnecting', duration(forMs), count(breaks)],
    }))}
  />
);

const servedWords = (isServed: boolean | null) => (isServed === null ? <Unknown /> : isServed ? 'yes' : 'nobody');
const runnerName = ({ kind, name }: RunnerLine) =>
  name === null ? (
    'in the service'
  ) : (
    <>
      {kind === 'check' && <span class="muted">remote check </span>}
      <Name value={name} />
    </>
  );

const Runners = ({ report: { runners, runnersOmitted } }: Shown) => (
  <Table
    title="Runners"
    note={
      runnersOmitted > 0
        ? `Checks of the first open stops; ${count(runnersOmitted)} more stops are not counted.`
        : 'Checks of open stops, by where they run.'
    }
    heads={['Runner', 'Served', '#Waiting', '#Running', '#Oldest waits']}
    rows={runners.map((line) => ({
      key: `${line.kind} ${line.name}`,
      isBad: line.isServed === false,
      cells: [
        runnerName(line),
        servedWords(line.isServed),
        count(line.waiting),
        count(line.running),
        line.oldestMs === null ? '–' : duration(line.oldestMs),
      ],
    }))}
  />
);

const amount = (bound: string, number: number) => (bound.startsWith('bytes') ? bytes(number) : count(number));

const isShown = (limit: LimitLine): boolean => limit.used === null || isNear(limit);

/** The limits that are near or unknown, the fullest first. */
const Limits = ({ report: { limits } }: Shown) => (
  <Table
    title="Limits"
    note={`${count(limits.filter((limit) => !isShown(limit)).length)} are below ${percent(nearShare)}.`}
    heads={['Limit', '#Used', '#Maximum', '#Share']}
    rows={limits
      .filter(isShown)
      .toSorted((a, b) => (shareOf(b) ?? -1) - (shareOf(a) ?? -1))
      .map((limit) => {
        const { bound, used, max } = limit;
        const share = shareOf(limit);
        return {
          key: bound,
          isBad: isNear(limit),
          cells: [
            <>
              {bound} {isNear(limit) && <span class="tag">near</span>}
            </>,
            used === null ? <Unknown /> : amount(bound, used),
            amount(bound, max),
            share === null ? <Unknown /> : percent(share),
          ],
        };
      })}
  />
);

function Policies({ report: { policies } }: Shown) {
  const { seq, setBy, atMs } = policies;
  void liveFleet.version.value;
  const workers = new Map<string, number>();
  for (const { policy } of liveFleet.workers.values()) workers.set(policy, (workers.get(policy) ?? 0) + 1);
  return (
    <Table
      title="Policies in force"
      note={
        seq === 0 ? (
          'None was ever set: every stop is allowed.'
        ) : (
          <>
            Set{' '}
            {setBy !== null && (
              <>
                by <Name value={setBy} />{' '}
              </>
            )}
            {atMs !== null && `at ${localTime(atMs)} `}with entry{' '}
            <Link to={{ view: 'entries', at: seq }}>#{count(seq)}</Link>
          </>
        )
      }
      heads={['Policy', 'Checks', '#Retries', '#Workers']}
      rows={policies.policies.map(({ name, checks, retries }) => ({
        key: name,
        cells: [
          <Name key="name" value={name} />,
          <Name key="checks" value={checks.join(', ') || 'none'} />,
          retries === null ? 'no cap' : count(retries),
          count(workers.get(name) ?? 0),
        ],
      }))}
    />
  );
}
