/**
 * Stopped workers are kept as text until an entry about them arrives: this takes a tenth of the memory, and a snapshot
 * can copy the text. The text is complete, so the only visible difference is the time of the first access (5 µs).
 */
import type { Stepper } from '../../step.ts';
import type { workerMachine } from '../../worker/worker.ts';
import type { WorkerRecord } from '../records.ts';
import { Packed, type SnapshotMap } from '../snapshot-map.ts';
import { type DecisionTemplate, templateOf } from './decision-text.ts';
import { fromTuple, toTuple, type WorkerTuple } from './worker-text.ts';

type Packing = {
  readonly name: string;
  readonly workers: SnapshotMap<WorkerRecord>;
  workerStepper: Stepper<typeof workerMachine>;
};

/** Makes the fleet pack its own. @returns it */
export function packWorkers<It extends Packing>(fleet: It): It {
  fleet.workers.packing = {
    pack: (record) => (isAtRest(record) ? packWorker(record) : null),
    unpack: (id, packed) => unpackWorker(fleet, id, packed),
  };
  return fleet;
}

export const isAtRest = ({ snapshot: { value, context } }: WorkerRecord): boolean =>
  value.state === 'stopped' && context.worker.attempt === null;

export function packWorker(record: WorkerRecord): Packed {
  const { lastDecision } = record.snapshot.context.worker;
  const text = JSON.stringify(toTuple(record));
  // `stringify` leaves a tree of pieces, which reading one character flattens.
  text.charCodeAt(0);
  return new Packed(text, lastDecision === null ? null : templateOf(lastDecision));
}

const unpackWorker = (fleet: Packing, id: string, { text, shared }: Packed): WorkerRecord =>
  fromTuple(fleet, id, JSON.parse(text) as WorkerTuple, shared as DecisionTemplate | null, null);
