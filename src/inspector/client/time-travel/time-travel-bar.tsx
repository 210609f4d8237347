/** The time travel bar: buttons, and the log along a time axis. */
import type { Decision } from '../../../../machines/index.ts';
import { Answer } from '../actor/attempts.tsx';
import { newestSeq, shownRange } from '../data/outline.ts';
import { cancelPast, logRange, moment, pastProblem, pastProgress, shownMs } from '../data/past.ts';
import { CopyMoment } from '../moment-link.tsx';
import { navigate, route } from '../route.ts';
import { Button, FoldProgress } from '../ui/controls.tsx';
import { count, dateTime, duration } from '../ui/format.ts';
import { Text } from '../ui/text.tsx';
import { Strip } from './strip.tsx';
import { bringIntoView, showRange } from './strip-pointer.ts';

export function TimeTravelBar() {
  const { at } = route.value;
  return at === null ? null : <Bar at={at} />;
}

function Bar({ at }: { at: number }) {
  const firstSeq = Math.max(logRange.value?.firstSeq ?? 0, 0);
  const lastSeq = logRange.value === null ? at : newestSeq.value;
  const goTo = (seq: number) => navigate({ at: Math.min(lastSeq, Math.max(firstSeq, seq)) }, 'replace');
  return (
    <section class="travel" aria-label="Time travel">
      <div class="travel-row">
        <StepButton label="First entry" sign="|◀" disabled={at <= firstSeq} onClick={() => goTo(firstSeq)} />
        <StepButton label="Previous entry" sign="◀" disabled={at <= firstSeq} onClick={() => goTo(at - 1)} />
        <StepButton label="Next entry" sign="▶|" disabled={at >= lastSeq} onClick={() => goTo(at + 1)} />
        <CurrentEntry at={at} lastSeq={lastSeq} />
        <CopyMoment />
        <ZoomButtons at={at} />
      </div>
      <Strip at={at} goTo={goTo}>
        <Slider at={at} firstSeq={firstSeq} lastSeq={lastSeq} goTo={goTo} />
      </Strip>
    </section>
  );
}

/** Buttons to zoom without a wheel. */
function ZoomButtons({ at }: { at: number }) {
  const { fromSeq, toSeq } = shownRange.value;
  const zoom = (factor: number) => {
    const pivot = Math.min(toSeq, Math.max(fromSeq, at));
    showRange(pivot - (pivot - fromSeq) * factor, pivot + (toSeq - pivot) * factor);
  };
  return (
    <span class="zoom">
      <StepButton label="Show less of the log" sign="+" disabled={toSeq - fromSeq < 2} onClick={() => zoom(0.5)} />
      <StepButton label="Show more of the log" sign="−" disabled={route.value.range === null} onClick={() => zoom(2)} />
      <StepButton
        label="All of the log"
        sign="All"
        disabled={route.value.range === null}
        onClick={() => navigate({ range: null }, 'replace')}
      />
    </span>
  );
}

type StepButtonProps = { label: string; sign: string; disabled?: boolean; onClick: () => void };

const StepButton = ({ label, sign, disabled = false, onClick }: StepButtonProps) => (
  <Button aria-label={label} title={label} disabled={disabled} onClick={onClick}>
    {sign}
  </Button>
);

type SliderProps = { at: number; firstSeq: number; lastSeq: number; goTo: (seq: number) => void };

/** A slider over the log for keyboards and screen readers. Visually it is the line on the time axis. */
function Slider({ at, firstSeq, lastSeq, goTo }: SliderProps) {
  const loaded = moment.value;
  const time = loaded === null || loaded.atMs === 0 ? '' : `, ${dateTime(loaded.atMs)}`;
  return (
    <input
      type="range"
      aria-label="Log entry"
      min={firstSeq}
      max={lastSeq}
      value={at}
      aria-valuetext={`entry ${at} of ${lastSeq}${time}`}
      onInput={(event) => {
        const seq = Number(event.currentTarget.value);
        goTo(seq);
        bringIntoView(seq);
      }}
    />
  );
}

function CurrentEntry({ at, lastSeq }: { at: number; lastSeq: number }) {
  const loaded = moment.value?.seq === at ? moment.value : null;
  const entry = loaded?.entry ?? null;
  return (
    <p class="travel-now" role="status">
      <b>
        Entry {count(at)} of {count(lastSeq)}
      </b>
      {loaded !== null && loaded.atMs > 0 && <span> · {dateTime(shownMs.value)}</span>}
      {loaded !== null && shownMs.value - loaded.atMs >= 1_000 && (
        <span class="muted"> · {duration(shownMs.value - loaded.atMs)} after that entry</span>
      )}
      {pastProgress.value !== null ? (
        <FoldProgress progress={pastProgress.value} cancel={cancelPast} />
      ) : (
        loaded === null && pastProblem.value === null && <LateEntry />
      )}
      <Newer at={at} />
      {entry !== null && (
        <span>
          {' · '}
          {entry.entity} <b>{entry.id}</b> {entry.type}{' '}
          <span class="muted">
            {entry.type === 'decision' ? (
              <Answer decision={entry.data as Decision} />
            ) : (
              <Text value={entry.text} max={120} />
            )}
          </span>
        </span>
      )}
      {pastProblem.value !== null && <span class="problem"> cannot be shown</span>}
    </p>
  );
}

/** Shown after half a second of waiting. Until then the page still shows the previous entry. */
const LateEntry = () => (
  <span class="progress late">
    loading…
    <Button onClick={cancelPast}>Cancel</Button>
  </span>
);

/** How many entries came since the live view was left, with a link back to that entry. */
function Newer({ at }: { at: number }) {
  const { paused } = route.value;
  if (paused === null || paused > newestSeq.value) return null;
  const added = newestSeq.value - paused;
  return (
    <span>
      {' · '}
      {added === 0 ? 'nothing new' : `${count(added)} new`} since {paused === at && 'then'}
      {paused !== at && (
        <Button
          class="link"
          onClick={() => {
            navigate({ at: paused }, 'replace');
            bringIntoView(paused);
          }}
        >
          entry {count(paused)}
        </Button>
      )}
    </span>
  );
}
