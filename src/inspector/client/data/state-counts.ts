/** How many actors are in each state, as text, so that what shows the counts is rendered only when one has changed. */
import { computed } from '@preact/signals';
import { shownFleet } from './past.ts';

/** Numbers in the order of `workerStates`, separated by commas; for workers, those of `presences` follow. */
export const stateCounts = {
  worker: computed(() => {
    void shownFleet.value.version.value;
    return [...shownFleet.value.workerCounts, ...shownFleet.value.presenceCounts].join();
  }),
  task: computed(() => {
    void shownFleet.value.version.value;
    return shownFleet.value.taskCounts.join();
  }),
};
