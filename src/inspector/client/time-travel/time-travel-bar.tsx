/** The bar of time travel: a slider over the log. It only shows the past; the log stays as it is. */
import { cancelPast, logRange, moment, pastProblem, pastProgress } from '../data/past.ts';
import { navigate, route } from '../route.ts';
import { count, dateTime } from '../ui/format.ts';
import { FoldProgress } from '../ui/progress.tsx';
import { Text } from '../ui/text.tsx';
import { playing, usePlayback } from './playback.ts';

export function TimeTravelBar() {
  const { at } = route.value;
  return at === null ? null : <Bar at={at} />;
}

function Bar({ at }: { at: number }) {
  const { firstSeq = 0, lastSeq = at } = logRange.value ?? {};
  const goTo = (seq: number) => navigate({ at: Math.min(lastSeq, Math.max(firstSeq, seq)) }, 'replace');
  usePlayback(at, lastSeq, goTo);
  return (
    <section class="travel" aria-label="Time travel">
      <div class="travel-row">
        <StepButton label="First entry" sign="|◀" disabled={at <= firstSeq} onClick={() => goTo(firstSeq)} />
        <StepButton label="Previous entry" sign="◀" disabled={at <= firstSeq} onClick={() => goTo(at - 1)} />
        <StepButton
          label={playing.value ? 'Pause' : 'Play'}
          sign={playing.value ? '❚❚' : '▶'}
          onClick={() => {
            if (!playing.value && at >= lastSeq) goTo(firstSeq);
            playing.value = !playing.value;
          }}
        />
        <StepButton label="Next entry" sign="▶|" disabled={at >= lastSeq} onClick={() => goTo(at + 1)} />
        <Slider at={at} firstSeq={firstSeq} lastSeq={lastSeq} goTo={goTo} />
        <button type="button" class="primary" onClick={() => navigate({ at: null })}>
          Live
        </button>
      </div>
      <CurrentEntry at={at} lastSeq={lastSeq} />
    </section>
  );
}

type StepButtonProps = { label: string; sign: string; disabled?: boolean; onClick: () => void };

const StepButton = ({ label, sign, disabled = false, onClick }: StepButtonProps) => (
  <button type="button" aria-label={label} title={label} disabled={disabled} onClick={onClick}>
    {sign}
  </button>
);

type SliderProps = { at: number; firstSeq: number; lastSeq: number; goTo: (seq: number) => void };

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
        playing.value = false;
        goTo(Number(event.currentTarget.value));
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
      {loaded !== null && loaded.atMs > 0 && <span> · {dateTime(loaded.atMs)}</span>}
      {entry !== null && (
        <span>
          {' · '}
          {entry.entity} <b>{entry.id}</b> {entry.type}{' '}
          <span class="muted">
            <Text value={entry.text} max={120} />
          </span>
        </span>
      )}
      {pastProgress.value !== null && <FoldProgress progress={pastProgress.value} cancel={cancelPast} />}
      {pastProblem.value !== null && <span class="problem"> cannot be shown</span>}
    </p>
  );
}
