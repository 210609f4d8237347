/** Enters time travel at the newest entry, and leaves it. */
import { fleet } from '../data/api.ts';
import { enterPast, leavePast, prepareForPast } from '../data/past.ts';
import { route } from '../route.ts';
import { Icon } from '../ui/icon.tsx';

export function TimeTravelButton() {
  const isOn = route.value.at !== null;
  return (
    <button
      type="button"
      class="iconic"
      title={isOn ? 'Back to live' : 'Time travel'}
      disabled={fleet.value === ''}
      aria-pressed={isOn}
      onPointerEnter={() => isOn || prepareForPast()}
      onClick={() => (isOn ? leavePast() : void enterPast())}
    >
      <Icon path="M8 1.8a6.2 6.2 0 1 0 0 12.4a6.2 6.2 0 1 0 0-12.4M8 4.5V8l2.5 1.6" />
      <span>{isOn ? 'Back to live' : 'Time travel'}</span>
    </button>
  );
}
