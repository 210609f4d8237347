/** The header: fleet, views, connection state, time travel and session. */
import { visible } from '../visible-text.ts';
import { fleet, fleets, signOut } from './data/api.ts';
import {
  connection,
  head,
  hello,
  liveFleet,
  pauseByHand,
  renewSession,
  reopen,
  serviceFault,
  tick,
} from './data/connection.ts';
import { enterPast, isPast, leavePast, moment, prepareForPast, shownMs } from './data/past.ts';
import { inboxCount } from './inbox/waiting.ts';
import { isBehind } from './notice.tsx';
import { operatorName } from './operator/operator-actions.ts';
import { requestSignIn } from './operator/sign-in.tsx';
import { openPalette } from './page-keys.tsx';
import { noSelection, type Route, route, type View } from './route.ts';
import { Button, Icon, Link } from './ui/controls.tsx';
import { count, duration, localTime } from './ui/format.ts';

/** Enters time travel at the newest entry, or leaves it. */
function TimeTravelButton() {
  const isOn = route.value.at !== null;
  return (
    <Button
      class="iconic"
      title={isOn ? 'Back to live' : 'Time travel'}
      disabled={fleet.value === ''}
      aria-pressed={isOn}
      onPointerEnter={() => isOn || prepareForPast()}
      onClick={() => (isOn ? leavePast() : void enterPast())}
    >
      <Icon path="M8 1.8a6.2 6.2 0 1 0 0 12.4a6.2 6.2 0 1 0 0-12.4M8 4.5V8l2.5 1.6" />
      <span>{isOn ? 'Back to live' : 'Time travel'}</span>
    </Button>
  );
}

const titles: Readonly<Record<View, string>> = {
  workers: 'Workers',
  inbox: 'Inbox',
  tasks: 'Tasks',
  queues: 'Queues',
  entries: 'Entries',
  history: 'History',
  'what-if': 'What if',
  service: 'Service',
};
const home: Route = {
  view: 'workers',
  q: '',
  state: '',
  presence: '',
  agent: '',
  queue: '',
  sort: '',
  span: '',
  at: null,
  time: null,
  ...noSelection,
  tab: 'why',
  range: null,
  paused: null,
};

export function Header() {
  const { view, at, time, range, paused } = route.value;
  const sizes: Partial<Record<View, number>> = {
    workers: liveFleet.workers.size,
    inbox: inboxCount.value,
    tasks: liveFleet.tasks.size,
    queues: liveFleet.queues.size,
  };
  void liveFleet.ids.value;
  return (
    <header>
      <div class="brand">
        <Link to={{ ...home, paused: at === null ? paused : null }} aria-label="stopgate inspector, home">
          <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
            <rect width="32" height="32" rx="7" />
            <path d="M7 9v14M25 9v14M7 16h18" />
          </svg>
          <h1>stopgate</h1>
        </Link>
        <FleetName />
      </div>
      <nav class="row" aria-label="Views">
        {(Object.keys(titles) as View[]).map((key) => (
          <Link
            key={key}
            class={key}
            to={{ ...home, view: key, at, time, range, paused }}
            aria-current={view === key ? 'page' : undefined}
          >
            {titles[key]}
            {(sizes[key] ?? 0) > 0 && !isPast.value && (
              <span class={key === 'inbox' ? 'size urgent' : 'size'}>{count(sizes[key] ?? 0)}</span>
            )}
          </Link>
        ))}
      </nav>
      <div class="row tools">
        <ConnectionState />
        <PauseButton />
        <Tools />
        <Session />
      </div>
    </header>
  );
}

/** The name of the fleet, as a select if the service has several. */
function FleetName() {
  if (fleet.value === '') return null;
  if (fleets.value.length < 2) return <span class="fleet muted">{fleet.value}</span>;
  return (
    <select
      class="fleet muted"
      aria-label="Fleet"
      value={fleet.value}
      onChange={(event) => location.assign(`?fleet=${encodeURIComponent(event.currentTarget.value)}`)}
    >
      {fleets.value.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

const Tools = () => (
  <>
    <Button class="iconic" title="Find (Ctrl K)" onClick={openPalette}>
      <Icon path="M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.5 10.5L14 14" />
      <span>Find</span>
    </Button>
    <TimeTravelButton />
  </>
);

/** The connection state, with a link to the service view. On a phone it is the only such link. */
function ConnectionState() {
  const { seq, headSeq, receivedMs, perSecond } = head.value;
  void tick.value;
  const state = connection.value;
  const behind = Math.max(0, headSeq - seq);
  const isFaulty = state === 'live' && serviceFault.value !== null;
  const pastMs = moment.value === null ? 0 : shownMs.value;
  const word = {
    connecting: 'connecting…',
    live: isFaulty ? 'nothing is decided' : behind > 0 ? `${count(behind)} entries behind` : 'live',
    lost: 'connection lost',
    paused: 'paused',
  }[state];
  const isPastShown = isPast.value && state === 'live' && !isFaulty;
  const text = !isPastShown ? word : pastMs === 0 ? 'loading the past…' : `at ${localTime(pastMs)}`;
  const { view, at, time, range, paused } = route.value;
  return (
    <Link
      class="connection"
      to={{ ...home, view: 'service', at, time, range, paused }}
      aria-current={view === 'service' ? 'page' : undefined}
      data-connection={state}
      data-fault={isFaulty || undefined}
      data-past={isPastShown || undefined}
      data-behind={(state === 'live' && isBehind.value) || undefined}
      title={`entry ${seq} of ${headSeq}; opens the service`}
    >
      <i class="dot" aria-hidden="true" />
      <span class="word">{text}</span>
      {state === 'live' && !isPastShown && perSecond >= 1 && (
        <span class="muted"> {count(Math.round(perSecond))}/s</span>
      )}
      {state === 'lost' && receivedMs > 0 && <span> {duration(performance.now() - receivedMs)} ago</span>}
    </Link>
  );
}

/** Freezes the page while it counts new entries. Not needed in the past, which does not change. */
function PauseButton() {
  const state = connection.value;
  if (isPast.value || (state !== 'live' && state !== 'paused')) return null;
  const isPaused = state === 'paused';
  return (
    <Button
      class="pause"
      aria-pressed={isPaused}
      aria-label="Pause updates"
      title={isPaused ? 'Resume updates (p)' : 'Pause updates (p)'}
      onClick={isPaused ? reopen : pauseByHand}
    >
      <span aria-hidden="true">{isPaused ? '▶' : '❚❚'}</span>
    </Button>
  );
}

async function leaveSession(): Promise<void> {
  await signOut();
  // Without `hello`, the locked page does not claim that the session has ended.
  hello.value = null;
  renewSession();
}

/** The operator's name, and the buttons to sign in as operator or out. */
function Session() {
  if (hello.value === null) return null;
  const { session, operator, token } = hello.value;
  void tick.value; // the name is set with the first action
  const name = operatorName();
  return (
    <>
      {operator && name !== '' && (
        <span class="who muted" title="The operator: this name is stored with your actions">
          <bdi>{visible(name)}</bdi>
        </span>
      )}
      {token && !operator && (
        <Button class="sign-in" title="As operator" onClick={() => requestSignIn()}>
          Sign in
        </Button>
      )}
      {session && (
        <Button
          class="sign-out"
          title={operator ? `Signed in as operator${name === '' ? '' : `: ${name}`}` : 'Signed in with read access'}
          onClick={() => void leaveSession()}
        >
          Sign out
        </Button>
      )}
    </>
  );
}
