/** Enters time travel at the newest entry, and leaves it. */
import { fleet } from '../data/api.ts';
import { enterPast } from '../data/past.ts';
import { navigate, route } from '../route.ts';

export function TimeTravelButton() {
  const isOn = route.value.at !== null;
  return (
    <button
      type="button"
      disabled={fleet.value === ''}
      aria-pressed={isOn}
      onClick={() => (isOn ? navigate({ at: null, range: null, paused: null }) : void enterPast())}
    >
      {isOn ? 'Back to live' : 'Time travel'}
    </button>
  );
}
