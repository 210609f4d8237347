/** A notice when the page may not show the current state: the connection is lost or paused, or the past fails to load. */
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

/** Says that what the page shows is old, and that the service judges nothing; the second whatever is shown. */
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

/** Each outage in a few words, and the advice for it. */
const outages: Readonly<Record<OutageKind, readonly [what: string, advice: string]>> = {
  'nats-away': [
    'NATS is away',
    'Start the NATS server, or let this machine reach it. The service connects again by itself.',
  ],
  'log-lost': [
    'The log is gone',
    'Restore it from a backup and restart the service; “serve --accept-empty-log” begins anew without what is gone.',
  ],
  'log-silent': [
    'The log does not answer',
    'A NATS cluster that chooses a leader takes seconds. If it lasts, look at the log of the NATS server.',
  ],
  'not-stored': [
    'The log takes no entries',
    'Make room where the NATS server stores, or raise the limit of its account. It is tried again every two seconds.',
  ],
  'catching-up': ['The service is catching up', 'There is nothing to do: it goes on by itself.'],
  ended: ['This replica has ended', 'Look at its log, and start it again.'],
};

/** Nothing is judged here: over the whole width, in each view and also in the past. */
function Outage() {
  const fault = serviceFault.value;
  if (fault === null || connection.value === 'lost') return null;
  const { kind = null, judges = null } = outage.value ?? {};
  const [what, advice] = kind === null ? ['', 'Look at the log of the service.'] : outages[kind];
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
      No stop can be decided now: <Text value={fault} />. {advice} Agents are not held up: each stop is allowed, without
      being judged. <Link to={{ view: 'service', ...noSelection }}>Show the service</Link>
    </p>
  );
}

/** It counts in silence: a screen reader would tell each second. */
const Since = ({ sinceMs }: { sinceMs: number }) => (
  <>
    since {(date(sinceMs) === date(nowMs.value) ? time : dateTime)(sinceMs)}{' '}
    <span aria-hidden="true">({duration(Math.max(0, nowMs.value - sinceMs))})</span>.{' '}
  </>
);

/** A replica that folds as fast as entries come is behind by a few for a moment. */
const behindMsMin = 3_000;
export const isBehind = computed(
  () => behindSinceMs.value !== null && (heardMs.value ?? 0) - behindSinceMs.value >= behindMsMin,
);

function Behind() {
  const { seq, headSeq } = head.value;
  return (
    <p class="notice" role="status">
      This replica is behind: it has {plural(headSeq - seq, 'entry', 'entries')} of the log still to read, so what you
      see is as of {time(behindSinceMs.value ?? 0)} or later. It catches up by itself.
    </p>
  );
}

function LostConnection() {
  const problem = connectionProblem.value;
  return (
    <p class="notice" role="alert">
      {heardMs.value !== null &&
        `The connection is lost since ${time(heardMs.value)}; this is the last known state, and its times stand still. `}
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

/** Tells where a paused page stands, and how far the log has gone on. Nothing is counted while it is hidden. */
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
      <Button onClick={reopen}>Go on</Button>
    </p>
  );
}

const Gap = ({ fromSeq, toSeq, fromMs }: NonNullable<typeof gap.value>) => (
  <p class="notice" role="status">
    {plural(toSeq - fromSeq, 'entry', 'entries')} came while the page was paused, from {time(fromMs)} on.{' '}
    <Button onClick={() => navigate({ at: fromSeq, paused: fromSeq })}>Show where it was</Button>{' '}
    <Button
      onClick={() => {
        gap.value = null;
      }}
    >
      Dismiss
    </Button>
  </p>
);
