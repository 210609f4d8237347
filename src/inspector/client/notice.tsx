/** Notices when the page may not show the current state: connection lost or paused, past not loaded, service down. */
import { computed } from '@preact/signals';
import type { OutageKind } from '../service-messages.ts';
import {
  behindSinceMs,
  connectingSinceMs,
  connection,
  connectionProblem,
  gap,
  head,
  heardMs,
  nowMs,
  outage,
  pause,
  reopen,
  serviceFault,
  tick,
} from './data/connection.ts';
import { noResponse } from './data/event-stream.ts';
import { isPast, pastProblem } from './data/past.ts';
import { navigate, noSelection } from './route.ts';
import { Button, Link } from './ui/controls.tsx';
import { count, date, dateTime, duration, plural, time } from './ui/format.ts';
import { Name, Text } from './ui/text.tsx';

const patienceMs = 5_000;

/** A notice about outdated content, and one about a service that judges nothing. The latter is shown in every view. */
export const Notice = () => (
  <>
    <PageNotice />
    <Outage />
  </>
);

function PageNotice() {
  if (isPast.value) return null;
  if (connection.value === 'lost') return <LostConnection />;
  if (pastProblem.value !== null)
    return (
      <p class="notice" role="alert">
        The past cannot be shown: {pastProblem.value}
      </p>
    );
  if (connection.value === 'paused') return <Paused />;
  if (connection.value === 'connecting') return <Connecting />;
  if (serviceFault.value !== null) return null;
  if (isBehind.value) return <Behind />;
  return gap.value === null ? null : <Gap {...gap.value} />;
}

/** A short description of each outage, and advice. */
const outages: Readonly<Record<OutageKind, readonly [what: string, advice: string]>> = {
  'nats-away': [
    'NATS is away',
    'Start the NATS server, or make it reachable from this machine. The service then reconnects.',
  ],
  'log-lost': [
    'The log is gone',
    'Restore it from a backup and restart the service, or start without the lost entries: “serve --accept-empty-log”.',
  ],
  'log-silent': [
    'The log is not responding',
    'A NATS cluster takes a few seconds to elect a leader. If this lasts, check the log of the NATS server.',
  ],
  'not-stored': [
    'The log takes no entries',
    'Free disk space on the NATS server, or raise the limit of its account. The service retries every two seconds.',
  ],
  'catching-up': ['The service is catching up', 'No action is needed: judging resumes once it has caught up.'],
  ended: ['This replica has ended', 'Check its log and start it again.'],
};

/** Shown across the full width while nothing is judged, in every view and in the past. */
function Outage() {
  const fault = serviceFault.value;
  if (fault === null || connection.value === 'lost') return null;
  const { kind = null, judges = null } = outage.value ?? {};
  const [what, advice] = kind === null ? ['', 'Check the log of the service.'] : outages[kind];
  if (judges !== null)
    return (
      <p class="notice" role="status">
        <b>{what}, for this replica.</b> <Name value={judges} /> judges meanwhile. {advice}
      </p>
    );
  return (
    <p class="notice" data-fault={kind ?? 'unknown'} role="alert">
      <b>
        {what} {outage.value !== null && <Since sinceMs={outage.value.sinceMs} />}
      </b>
      No stop can be decided now: <Text value={fault} />. {advice} Agents are not held up: every stop is allowed without
      being judged. <Link to={{ view: 'service', ...noSelection }}>Show the service</Link>
    </p>
  );
}

/** The counter is hidden from screen readers, which would announce every second. */
const Since = ({ sinceMs }: { sinceMs: number }) => (
  <>
    since {(date(sinceMs) === date(nowMs.value) ? time : dateTime)(sinceMs)}{' '}
    <span aria-hidden="true">({duration(Math.max(0, nowMs.value - sinceMs))})</span>.{' '}
  </>
);

/** Being a few entries behind for a moment is normal. */
const behindMsMin = 3_000;
export const isBehind = computed(
  () => behindSinceMs.value !== null && (heardMs.value ?? 0) - behindSinceMs.value >= behindMsMin,
);

function Behind() {
  const { seq, headSeq } = head.value;
  return (
    <p class="notice" role="status">
      This replica is behind: it still has {plural(headSeq - seq, 'entry', 'entries')} of the log to read, so this page
      shows the state as of {time(behindSinceMs.value ?? 0)} or later. It is catching up.
    </p>
  );
}

function LostConnection() {
  const problem = connectionProblem.value;
  return (
    <p class="notice" role="alert">
      {heardMs.value !== null &&
        `Connection lost at ${time(heardMs.value)}. This is the last known state; its times stand still. `}
      {problem === noResponse && (
        <>
          {problem} If it was stopped, start it again: <code>npm start</code>.{' '}
        </>
      )}
      {problem !== null && problem !== noResponse && `Nothing new can be shown: ${problem}. `}
      Reconnecting…
    </p>
  );
}

function Connecting() {
  void tick.value;
  const problem = connectionProblem.value;
  if (problem === null && Date.now() - connectingSinceMs.value < patienceMs) return null;
  return (
    <p class="notice" role="status">
      {problem ??
        'Still connecting. The service is busy, or the browser has too many connections to it: close pages of other fleets.'}
    </p>
  );
}

/** Shows where the page was paused, and how many entries came since. Nothing is counted while the page is hidden. */
function Paused() {
  if (pause.value === null) return null;
  const { seq, atMs, by } = pause.value;
  const missed = Math.max(0, head.value.seq - seq);
  return (
    <p class="notice">
      Paused at entry {count(seq)}, {time(atMs)}
      {by === 'hidden'
        ? ', because this page was hidden for a while.'
        : `: ${plural(missed, 'entry', 'entries')} since.`}{' '}
      <Button onClick={reopen}>Resume</Button>
    </p>
  );
}

const Gap = ({ fromSeq, toSeq, fromMs }: NonNullable<typeof gap.value>) => (
  <p class="notice" role="status">
    {plural(toSeq - fromSeq, 'entry', 'entries')} came while the page was paused, since {time(fromMs)}.{' '}
    <Button onClick={() => navigate({ at: fromSeq, paused: fromSeq })}>Go to where it was paused</Button>{' '}
    <Button
      onClick={() => {
        gap.value = null;
      }}
    >
      Dismiss
    </Button>
  </p>
);
