/** One worker or task of a snapshot. Of its context only what differs from a new one's is written. */
import type { PolicyInForce } from '../../guards/attempt.ts';
import type { Verdict } from '../../guards/decision.ts';
import type { Policy } from '../../policy/policy.ts';
import { createTaskContext, type TaskContext } from '../../task/context.ts';
import { createWorkerContext, type WorkerContext } from '../../worker/context.ts';
import type { Fleet, TaskRecord, WorkerRecord } from '../fleet.ts';
import type { Json, Packed, Packer, Unpacker } from './packing.ts';

const newWorker = (fleet: string, worker: string) => createWorkerContext({ fleet, worker, atMs: 0 });
const newTask = (fleet: string, task: string) => createTaskContext({ fleet, task, queue: null });

export function encodeWorker(fleet: Fleet, id: string, record: WorkerRecord, packer: Packer): string {
  const { snapshot, ...rest } = record;
  const { worker } = snapshot.context;
  const changed = changesOf(worker, newWorker(fleet.name, id)) as Partial<WorkerContext>;
  const { lastDecision, attempt } = changed;
  const packed = {
    ...changed,
    ...(lastDecision == null
      ? {}
      : { lastDecision: packer.pack({ ...lastDecision, verdicts: packVerdicts(lastDecision.verdicts, packer) }) }),
    ...(attempt == null
      ? {}
      : {
          attempt: {
            ...attempt,
            verdicts: packVerdicts(attempt.verdicts, packer),
            inForce: { ...attempt.inForce, policy: packPolicy(attempt.inForce, packer) },
          },
        }),
  };
  const { state, presence } = snapshot.value;
  return JSON.stringify([state, presence, packer.pack(rest), packer.pack(packed)]);
}

type WorkerLine = [state: string, presence: string, rest: Packed, changed: Packed];

export function decodeWorker(fleet: Fleet, id: string, text: string, unpacker: Unpacker): WorkerRecord {
  const [state, presence, rest, packed] = JSON.parse(text) as WorkerLine;
  const { lastDecision, attempt, ...changed } = unpacker.unpack(packed) as PackedWorker;
  const worker = {
    ...newWorker(fleet.name, id),
    ...changed,
    ...(lastDecision === undefined ? {} : { lastDecision: unpackDecision(lastDecision, unpacker) }),
    ...(attempt === undefined ? {} : { attempt: unpackAttempt(attempt, unpacker) }),
  } as WorkerContext;
  return {
    snapshot: fleet.workerStepper.resume({ state, presence }, { worker }),
    ...unpacker.unpack(rest),
  } as WorkerRecord;
}

export function encodeTask(fleet: Fleet, id: string, { snapshot, ...rest }: TaskRecord, packer: Packer): string {
  const changed = changesOf(snapshot.context, newTask(fleet.name, id));
  return JSON.stringify([snapshot.value, packer.pack(rest), packer.pack(changed)]);
}

export function decodeTask(fleet: Fleet, id: string, text: string, unpacker: Unpacker): TaskRecord {
  const [value, rest, changed] = JSON.parse(text) as [value: string, rest: Packed, changed: Packed];
  const context = { ...newTask(fleet.name, id), ...unpacker.unpack(changed) } as TaskContext;
  return { snapshot: fleet.taskStepper.resume(value, context), ...unpacker.unpack(rest) } as TaskRecord;
}

function changesOf<Context extends object>(context: Context, fresh: Context): Partial<Context> {
  const changed: Partial<Context> = {};
  for (const key of Object.keys(context) as (keyof Context)[])
    if (!isSame(context[key], fresh[key])) changed[key] = context[key];
  return changed;
}

const isSame = (a: unknown, b: unknown): boolean => a === b || (isEmpty(a) && isEmpty(b));

/** Whether it is a list or an object without anything in it: where one stands no context ever has the other. */
const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** Most of them are one of a few dozen. */
const packVerdicts = (verdicts: readonly Verdict[], packer: Packer): Json[] =>
  verdicts.map((it) =>
    it.input === undefined && it.tookMs === undefined
      ? packer.share(`verdict ${it.guard} ${it.verdict} ${it.detail}`, it)
      : it,
  );

const texts = new WeakMap<Policy, string>();

function packPolicy({ policy }: PolicyInForce, packer: Packer): Json {
  const text = texts.get(policy) ?? JSON.stringify(policy);
  texts.set(policy, text);
  return packer.share(`policy ${text}`, policy);
}

type PackedWorker = { readonly lastDecision?: Packed; readonly attempt?: PackedAttempt };
type PackedAttempt = { readonly verdicts: Json[]; readonly inForce: { readonly policy: Json } };

function unpackDecision(packed: Packed, unpacker: Unpacker) {
  const decision = unpacker.unpack(packed) as { verdicts: Json[] };
  return { ...decision, verdicts: decision.verdicts.map(unpacker.shared) };
}

const unpackAttempt = (attempt: PackedAttempt, unpacker: Unpacker) => ({
  ...attempt,
  verdicts: attempt.verdicts.map(unpacker.shared),
  inForce: { ...attempt.inForce, policy: unpacker.shared(attempt.inForce.policy) },
});
