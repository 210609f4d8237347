/** The states and presences of rows, which have them as numbers. */
import { presences, type State, workerStates } from '../../../../machines/values/states.ts';

export const stateOf = (index: number): State => workerStates[index] ?? 'idle';
export const presenceOf = (index: number) => presences[index] ?? 'active';
