/**
 * Writes and reads one worker or task of a snapshot. Only the parts of its context that differ from a new actor's are
 * written.
 */
import type { Attempt, PolicyInForce } from '../../guards/attempt.ts';
import type { Verdict } from '../../guards/decision.ts';
import type { Policy } from '../../policy/policy.ts';
import { createTaskContext, type TaskContext } from '../../task/context.ts';
import type { Fleet, TaskRecord, WorkerRecord } from '../fleet.ts';
import { type DecisionTemplate, makeTemplate } from './decision-text.ts';
import { isSame, type Json, type PackedJson, type Packer, type Unpacker } from './packing.ts';
import { fromTuple, toTuple, type WorkerTuple } from './worker-text.ts';

/** The line of a worker that is at work. Stopped workers are written as they are held (`worker-text.ts`). */
type WorkerLine = [tuple: WorkerTuple, template: PackedJson | null, attempt: PackedAttempt | null];
type PackedAttempt = Omit<Attempt, 'verdicts' | 'inForce'> & {
  readonly verdicts: Json[];
  readonly inForce: Omit<PolicyInForce, 'policy'> & { readonly policy: Json };
};

export function encodeWorker(record: WorkerRecord, packer: Packer): string {
  const { lastDecision, attempt } = record.snapshot.context.worker;
  const line: WorkerLine = [
    toTuple(record),
    lastDecision === null ? null : packTemplate(makeTemplate(lastDecision), packer),
    attempt === null ? null : packAttempt(attempt, packer),
  ];
  return JSON.stringify(line);
}

export function decodeWorker(fleet: Fleet, id: string, text: string, unpacker: Unpacker): WorkerRecord {
  const [tuple, packed, attempt] = JSON.parse(text) as WorkerLine;
  const template = packed === null ? null : (unpacker.unpack(packed) as { verdicts: Json[] });
  return fromTuple(
    ...([fleet, id, tuple] as const),
    template === null ? null : ({ ...template, verdicts: template.verdicts.map(unpacker.shared) } as DecisionTemplate),
    attempt === null ? null : unpackAttempt(attempt, unpacker),
    unpacker.legend(),
  );
}

/** Does as `encodeWorker`, for a worker that is packed already. */
export const joinLine = (tuple: string, template: DecisionTemplate, packer: Packer): string =>
  `[${tuple},${JSON.stringify(packTemplate(template, packer))},null]`;

export const decodePacked = (
  fleet: Fleet,
  id: string,
  text: string,
  template: DecisionTemplate | null,
  unpacker: Unpacker,
): WorkerRecord => fromTuple(fleet, id, JSON.parse(text) as WorkerTuple, template, null, unpacker.legend());

const packTemplate = (template: DecisionTemplate, packer: Packer): PackedJson =>
  packer.pack({ ...template, verdicts: packVerdicts(template.verdicts, packer) });

const newTask = (fleet: string, task: string) => createTaskContext({ fleet, task, queue: null });

export function encodeTask(fleet: Fleet, id: string, { snapshot, ...rest }: TaskRecord, packer: Packer): string {
  const changed = changesOf(snapshot.context, newTask(fleet.name, id));
  return JSON.stringify([snapshot.value, packer.pack(rest), packer.pack(changed)]);
}

export function decodeTask(fleet: Fleet, id: string, text: string, unpacker: Unpacker): TaskRecord {
  const [value, rest, changed] = JSON.parse(text) as [value: string, rest: PackedJson, changed: PackedJson];
  const context = { ...newTask(fleet.name, id), ...unpacker.unpack(changed) } as TaskContext;
  return { snapshot: fleet.taskStepper.resume(value, context), ...unpacker.unpack(rest) } as TaskRecord;
}

function changesOf<Context extends object>(context: Context, fresh: Context): Partial<Context> {
  const changed: Partial<Context> = {};
  for (const key of Object.keys(context) as (keyof Context)[])
    if (!isSame(context[key], fresh[key])) changed[key] = context[key];
  return changed;
}

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

const packAttempt = (attempt: Attempt, packer: Packer): PackedAttempt => ({
  ...attempt,
  verdicts: packVerdicts(attempt.verdicts, packer),
  inForce: { ...attempt.inForce, policy: packPolicy(attempt.inForce, packer) },
});

const unpackAttempt = (attempt: PackedAttempt, unpacker: Unpacker): Attempt => ({
  ...attempt,
  verdicts: attempt.verdicts.map(unpacker.shared) as Verdict[],
  inForce: { ...attempt.inForce, policy: unpacker.shared(attempt.inForce.policy) as Policy },
});
