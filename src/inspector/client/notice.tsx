/** A notice when the page may not show the current state: the connection is lost or paused, or the past fails to load. */
import { computed } from '@preact/signals';
import {
  behindSinceMs,
  connectingSinceMs,
  connection,
  connectionProblem,
  faultSinceMs,
  gap,
  head,
  heardMs,
  pause,
  reopen,
  serviceFault,
  tick,
} from './data/connection.ts';
import { noResponse } from './data/event-stream.ts';
import { isPast, pastProblem } from './data/past.ts';
import { navigate } from './route.ts';
import { count, plural, time } from './ui/format.ts';

const patienceMs = 5_000;

export function Notice() {
  if (isPast.value) return null;
  if (connection.value === 'lost') return <LostConnection />;
  if (connection.value === 'live' && serviceFault.value !== null) return <NothingDecided fault={serviceFault.value} />;
  if (pastProblem.value !== null)
    return (
      <p class="notice" role="alert">
        The past cannot be shown: {pastProblem.value}
      </p>
    );
  if (connection.value === 'paused') return <Paused />;
  if (connection.value === 'connecting') return <Connecting />;
  if (isBehind.value) return <Behind />;
  return gap.value === null ? null : <Gap {...gap.value} />;
}

const NothingDecided = ({ fault }: { fault: string }) => (
  <p class="notice" data-fault role="alert">
    <b>No stop can be decided now: {fault}.</b>{' '}
    {faultSinceMs.value !== null && `This page noticed it at ${time(faultSinceMs.value)}. `}
    Agents are not held up: each stop is allowed, without being judged. Look at the service’s log and at{' '}
    <a href="/readyz">/readyz</a>; this page goes on by itself once the service does.
  </p>
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
      <button type="button" onClick={reopen}>
        Go on
      </button>
    </p>
  );
}

const Gap = ({ fromSeq, toSeq, fromMs }: NonNullable<typeof gap.value>) => (
  <p class="notice" role="status">
    {plural(toSeq - fromSeq, 'entry', 'entries')} came while the page was paused, from {time(fromMs)} on.{' '}
    <button type="button" onClick={() => navigate({ at: fromSeq, paused: fromSeq })}>
      Show where it was
    </button>{' '}
    <button
      type="button"
      onClick={() => {
        gap.value = null;
      }}
    >
      Dismiss
    </button>
  </p>
);
