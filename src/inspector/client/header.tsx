/** Who serves, how old what is shown is, and the ways through the page. */
import { fleet, signOut } from './api.ts';
import { head, hello, link, linkProblem, live, nowMs, reopen } from './connection.ts';
import { isPast, pastProblem } from './past.ts';
import { follow, go, hrefOf, type Place, place, type View } from './place.ts';
import { askToSignIn } from './sign-in.tsx';
import { count, duration } from './terms.ts';
import { TravelButton } from './travel.tsx';

const titles: Readonly<Record<View, string>> = {
  workers: 'Workers',
  tasks: 'Tasks',
  queues: 'Queues',
  'what-if': 'What if',
};

export function Header() {
  const { view, at } = place.value;
  const sizes = { workers: live.workers.size, tasks: live.tasks.size, queues: live.queues.size };
  void live.names.value;
  return (
    <header>
      <div class="brand">
        <a href="/" onClick={(event) => follow(event, home)} aria-label="stopgate inspector, start">
          <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
            <rect width="32" height="32" rx="7" />
            <path d="M7 9v14M25 9v14M7 16h18" />
          </svg>
          <h1>stopgate</h1>
        </a>
        {fleet.value !== '' && <span class="fleet">{fleet.value}</span>}
      </div>
      <nav aria-label="Views">
        {(Object.keys(titles) as View[]).map((it) => (
          <a
            key={it}
            href={hrefOf({ ...home, view: it, at })}
            aria-current={view === it ? 'page' : undefined}
            onClick={(event) => follow(event, { ...home, view: it, at })}
          >
            {titles[it]}
            {it !== 'what-if' && sizes[it] > 0 && !isPast.value && <span class="size">{count(sizes[it])}</span>}
          </a>
        ))}
      </nav>
      <div class="tools">
        <Link />
        <TravelButton />
        <Session />
      </div>
    </header>
  );
}

const home: Place = {
  ...{ view: 'workers' as const, q: '', state: '', presence: '', agent: '', queue: '', sort: '' },
  ...{ worker: null, task: null, at: null },
};

function Link() {
  const { seq, headSeq, heardMs, perSecond } = head.value;
  void nowMs.value;
  const state = link.value;
  const ageMs = performance.now() - heardMs;
  const behind = Math.max(0, headSeq - seq);
  const words = {
    opening: 'connecting…',
    live: behind > 0 ? `live, ${count(behind)} entries behind` : 'live',
    lost: 'connection lost',
    asleep: 'asleep',
  }[state];
  return (
    <span class="link" data-link={state} title={`entry ${seq} of ${headSeq}`}>
      <i class="dot" aria-hidden="true" />
      {words}
      {state === 'live' && perSecond >= 1 && <span class="muted"> {count(Math.round(perSecond))}/s</span>}
      {state === 'lost' && heardMs > 0 && <span> {duration(ageMs)} old</span>}
    </span>
  );
}

function Session() {
  if (hello.value === null || !hello.value.token) return null;
  if (!hello.value.operator)
    return (
      <button type="button" onClick={() => askToSignIn('operator')}>
        Sign in
      </button>
    );
  return (
    <button
      type="button"
      title="You may speak as operator"
      onClick={() => void signOut().then(() => location.reload())}
    >
      Sign out
    </button>
  );
}

/** Said in words where what is shown may not be what is. */
export function Notice() {
  const state = link.value;
  if (isPast.value) return null;
  if (state === 'lost')
    return (
      <p class="notice" role="alert">
        {head.value.heardMs === 0
          ? 'The service does not answer.'
          : 'The connection is lost: what you see is as it was then.'}{' '}
        It is tried again until it answers. {linkProblem.value} If it was ended: <code>npm start</code>.
      </p>
    );
  if (pastProblem.value !== null)
    return (
      <p class="notice" role="alert">
        The past cannot be shown: {pastProblem.value}
      </p>
    );
  if (state === 'asleep')
    return (
      <p class="notice">
        Nobody looked for a while, so the page stopped listening.{' '}
        <button type="button" onClick={reopen}>
          Go on
        </button>
      </p>
    );
  return null;
}

export const leave = () => go({ worker: null, task: null });
