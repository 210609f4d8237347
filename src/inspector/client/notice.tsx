/** A notice when the page may not show the current state: the connection is lost or paused, or the past fails to load. */
import { connection, connectionProblem, head, reopen } from './data/connection.ts';
import { isPast, pastProblem } from './data/past.ts';

export function Notice() {
  if (isPast.value) return null;
  if (connection.value === 'lost') return <LostConnection />;
  if (pastProblem.value !== null)
    return (
      <p class="notice" role="alert">
        The past cannot be shown: {pastProblem.value}
      </p>
    );
  if (connection.value === 'paused')
    return (
      <p class="notice">
        Updates are paused because this page was hidden for a while.{' '}
        <button type="button" onClick={reopen}>
          Resume
        </button>
      </p>
    );
  return null;
}

const LostConnection = () => (
  <p class="notice" role="alert">
    {head.value.receivedMs === 0
      ? 'The service does not respond.'
      : 'The connection is lost; this is the last known state.'}{' '}
    Reconnecting… {connectionProblem.value} If the service was stopped, start it again: <code>npm start</code>.
  </p>
);
