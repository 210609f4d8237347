/** Snapshot lines of workers and tasks. They contain only fields that differ from a new actor's. */
import { createTaskContext, type TaskContext, taskFields } from '../../task/context.ts';
import { changesOf, checkFields, type Json } from '../../values/fields.ts';
import { presences, workerStates } from '../../values/states.ts';
import { changeContext, createWorkerContext, type WorkerContext, workerFields } from '../../worker/context.ts';
import type { Fleet, TaskRecord, WorkerRecord } from '../fleet.ts';
import { createRecord, createTaskRecord, taskRecordFields, workerRecordFields } from '../records.ts';
import type { DecisionReader, DecisionWriter } from './decisions.ts';

/** Fields that follow from the key of the line and from the fleet. */
const ofWorker: ReadonlySet<string> = new Set(['fleet', 'worker']);
const ofWorkerAndDecision: ReadonlySet<string> = new Set([...ofWorker, 'lastDecision']);
const ofTask: ReadonlySet<string> = new Set(['fleet', 'task']);
const none: ReadonlySet<string> = new Set();
const freshWorker = createWorkerContext({ fleet: '', worker: '', atMs: 0 });

/**
 * `[shared, state, presence, fields of the record, fields of the context, own fields of the last decision]`. `shared`:
 * the number of its last decision's shared fields; null if it has no decision, or the context holds the whole decision.
 */
export function writeWorker(record: Readonly<WorkerRecord>, decisions: DecisionWriter): readonly Json[] {
  const { value, context } = record.snapshot;
  const { lastDecision } = context.worker;
  const kept = lastDecision === null ? null : decisions.write(lastDecision);
  const omitted = kept === null ? ofWorker : ofWorkerAndDecision;
  return [
    kept?.shared ?? null,
    value.state,
    value.presence,
    changesOf(workerRecordFields, record, none),
    changesOf(workerFields, context.worker, omitted),
    kept?.own ?? null,
  ];
}

/** @throws Error if the line is invalid */
export function readWorker(line: readonly Json[], id: string, fleet: Fleet, decisions: DecisionReader): WorkerRecord {
  const [shared, state, presence, recordFields, contextFields, own] = line;
  if (!isOneOf(workerStates, state) || !isOneOf(presences, presence)) throw new Error(`worker ${id} is in no state`);
  const fields = checkFields(workerRecordFields, recordFields);
  const change = checkFields(workerFields, contextFields) as {
    -readonly [K in keyof WorkerContext]?: WorkerContext[K];
  };
  change.fleet = fleet.name;
  change.worker = id;
  if (shared !== null) change.lastDecision = decisions.read(id, shared, own);
  if (state === 'validating' && (change.attempt ?? null) === null) throw new Error(`worker ${id} judges no attempt`);
  const worker = changeContext(freshWorker, change);
  return createRecord(fleet.workerStepper.resume({ state, presence }, { worker }), fields);
}

/** `[null, state, fields of the record, fields of the context]` */
export function writeTask(record: Readonly<TaskRecord>): readonly Json[] {
  const { value, context } = record.snapshot;
  return [null, value, changesOf(taskRecordFields, record, none), changesOf(taskFields, context, ofTask)];
}

/** @throws Error if the line is invalid */
export function readTask(line: readonly Json[], id: string, fleet: Fleet): TaskRecord {
  const [, state, recordFields, contextFields] = line;
  if (!isOneOf(workerStates, state)) throw new Error(`task ${id} is in no state`);
  const fields = checkFields(taskRecordFields, recordFields);
  const fresh: TaskContext = createTaskContext({ fleet: fleet.name, task: id });
  const context = Object.assign(fresh, checkFields(taskFields, contextFields));
  return createTaskRecord(fleet.taskStepper.resume(state, context), fields);
}

const isOneOf = <Name extends string>(names: readonly Name[], value: unknown): value is Name =>
  names.includes(value as Name);
