/** In place of a state that cannot be shown: the reason, and where to go instead. */
import { leavePast, logRange, pastProblem } from '../data/past.ts';
import { navigate } from '../route.ts';

export function MissingEntry() {
  const newest = logRange.value?.lastSeq;
  return (
    <div class="empty">
      <h2>This entry cannot be shown</h2>
      <p>{pastProblem.value}</p>
      <p class="buttons">
        {newest !== undefined && (
          <button type="button" onClick={() => navigate({ at: newest })}>
            Go to the newest entry
          </button>
        )}
        <button type="button" onClick={leavePast}>
          Show the live state
        </button>
      </p>
    </div>
  );
}
