/** Time travel: a slider over the log. It only shows: the log stays as it is. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { fleet } from './api.ts';
import { enterPast, moment, pastProblem, range, settled } from './past.ts';
import { go, place } from './place.ts';
import { count, dateTime } from './terms.ts';
import { Text } from './text.tsx';

const playing = signal(false);
const stepMs = 300;

const stop = () => {
  playing.value = false;
};

export function TravelButton() {
  const isOn = place.value.at !== null;
  return (
    <button
      type="button"
      disabled={fleet.value === ''}
      aria-pressed={isOn}
      onClick={() => (isOn ? go({ at: null }) : void enterPast())}
    >
      {isOn ? 'Back to live' : 'Time travel'}
    </button>
  );
}

export function TravelBar() {
  const { at } = place.value;
  return at === null ? null : <Bar at={at} />;
}

/** Instead of what cannot be shown; with the ways on from there. */
export function NoMoment() {
  const newest = range.value?.lastSeq;
  return (
    <div class="empty">
      <h2>This entry cannot be shown</h2>
      <p>{pastProblem.value}</p>
      <p class="buttons">
        {newest !== undefined && (
          <button type="button" onClick={() => go({ at: newest })}>
            Go to the newest entry
          </button>
        )}
        <button type="button" onClick={() => go({ at: null })}>
          Back to what is live
        </button>
      </p>
    </div>
  );
}

function Bar({ at }: { at: number }) {
  const { firstSeq = 0, lastSeq = at } = range.value ?? {};
  const to = (seq: number) => go({ at: Math.min(lastSeq, Math.max(firstSeq, seq)) }, 'quietly');
  const steps = useRef(0);
  useEffect(() => {
    if (!playing.value) return;
    steps.current += 1;
    const mine = steps.current;
    const timer = setTimeout(async () => {
      await settled();
      if (mine !== steps.current || !playing.peek()) return;
      if (at >= lastSeq) playing.value = false;
      else to(at + 1);
    }, stepMs);
    return () => clearTimeout(timer);
  }, [playing.value, at, lastSeq]);
  useEffect(() => stop, []);
  const now = moment.value;
  const entry = now?.seq === at ? now.entry : null;
  return (
    <section class="travel" aria-label="Time travel">
      <div class="travel-row">
        <button
          type="button"
          aria-label="First entry"
          title="First entry"
          disabled={at <= firstSeq}
          onClick={() => to(firstSeq)}
        >
          |◀
        </button>
        <button
          type="button"
          aria-label="One entry back"
          title="One entry back"
          disabled={at <= firstSeq}
          onClick={() => to(at - 1)}
        >
          ◀
        </button>
        <button
          type="button"
          aria-label={playing.value ? 'Pause' : 'Play'}
          title={playing.value ? 'Pause' : 'Play'}
          onClick={() => {
            if (!playing.value && at >= lastSeq) to(firstSeq);
            playing.value = !playing.value;
          }}
        >
          {playing.value ? '❚❚' : '▶'}
        </button>
        <button
          type="button"
          aria-label="One entry on"
          title="One entry on"
          disabled={at >= lastSeq}
          onClick={() => to(at + 1)}
        >
          ▶|
        </button>
        <input
          type="range"
          aria-label="Entry of the log"
          min={firstSeq}
          max={lastSeq}
          value={at}
          aria-valuetext={`entry ${at} of ${lastSeq}${now === null || now.atMs === 0 ? '' : `, ${dateTime(now.atMs)}`}`}
          onInput={(event) => {
            playing.value = false;
            to(Number(event.currentTarget.value));
          }}
        />
        <button type="button" class="primary" onClick={() => go({ at: null })}>
          Live
        </button>
      </div>
      <p class="travel-now" role="status">
        <b>
          Entry {count(at)} of {count(lastSeq)}
        </b>
        {now?.seq === at && now.atMs > 0 && <span> · {dateTime(now.atMs)}</span>}
        {entry !== null && (
          <span>
            {' · '}
            {entry.entity} <b>{entry.id}</b> {entry.type}{' '}
            <span class="muted">
              <Text value={entry.text} max={120} />
            </span>
          </span>
        )}
        {pastProblem.value !== null && <span class="problem"> cannot be shown</span>}
      </p>
    </section>
  );
}
