/**
 * The folded state of a fleet as lines of JSON, and back (protocol.md §15). Equal states give equal lines, and a fold
 * that continues from them gives the same state as one from the beginning.
 *
 * A line is a list: the name of a part of the fleet, then what `parts.ts` writes of it. The lines are made one by one, from
 * the state at the start of the snapshot, while the fold continues. What is read is checked by the tables of fields, before
 * anything is folded on it: who may write where snapshots are stored can forge one with a right digest.
 */
import type { Rules } from '../../rules/rules.ts';
import type { Json } from '../../values/fields.ts';
import { createFleet, type Fleet } from '../fleet.ts';
import { readTask, readWorker } from './actors.ts';
import { createDecisionReader, createDecisionWriter } from './decisions.ts';
import { createKnownForms, type SnapshotLine } from './line-form.ts';
import { type CapturedPart, parts } from './parts.ts';

export type { SnapshotLine } from './line-form.ts';

/** The format of the lines. Another format is not read. */
export const snapshotFormat = 7;

export type FleetSnapshot = {
  /** Each line ends with a line feed. Iterate them once, at any pace. */
  readonly lines: Iterable<string>;
  /** Call it when no more lines are read. */
  close(): void;
};

type PartName = keyof typeof parts;
const partNames = Object.keys(parts) as PartName[];
/** Each snapshot has these once. */
const singleParts: readonly PartName[] = ['rules', 'nowMs', 'seq', 'policySeq', 'stateSize', 'day', 'policies'];
/** The lines of shared decisions, which are no part of the fleet. */
const sharedDecisions = 'decision';

/** All parts have the same form; which type each has is not known here. */
const partOf = (name: PartName) => parts[name] as (typeof parts)['seq'];

/** One of a fleet at a time, and between two entries. */
export function takeSnapshot(fleet: Fleet): FleetSnapshot {
  const captured = partNames.map((name): readonly [PartName, CapturedPart] => [
    name,
    partOf(name).capture(fleet[name] as number),
  ]);
  return {
    lines: linesOf(captured),
    close() {
      for (const [, { release }] of captured) release();
    },
  };
}

function* linesOf(captured: readonly (readonly [PartName, CapturedPart])[]): Generator<string> {
  const decisions = createDecisionWriter();
  for (const [name, { lines }] of captured) {
    for (const line of lines(decisions)) {
      for (const shared of decisions.takeLines()) yield `${JSON.stringify([sharedDecisions, ...shared])}\n`;
      yield `${JSON.stringify([name, ...line])}\n`;
    }
  }
}

/**
 * @param known the rules of this release; where the snapshot's are none of them the fleet says so (`unknownRules`)
 * @throws Error: these are no lines of a snapshot
 */
export function restoreFleet(name: string, lines: Iterable<SnapshotLine>, known?: readonly Rules[]): Fleet {
  const fleet: Fleet = createFleet(name, { rules: known });
  const decisions = createDecisionReader();
  const actors = createActorReader(fleet, decisions);
  const missing = new Set<string>(singleParts);
  for (const line of lines) {
    if (actors.postpone(line)) continue;
    const [part, ...values] = readLine(line);
    if (part === sharedDecisions) decisions.add(values);
    else if (!isPart(part)) throw new Error(`'${String(part).slice(0, 100)}' is no part of a snapshot`);
    else {
      missing.delete(part);
      (fleet as Record<PartName, unknown>)[part] = partOf(part).restore(
        fleet[part] as number,
        values,
        fleet,
        decisions,
      );
    }
  }
  for (const part of missing) throw new Error(`it holds no ${part}`);
  refuseUnknown(fleet);
  return fleet;
}

function readLine({ from, end, text }: SnapshotLine): readonly Json[] {
  const line: Json = JSON.parse(text(from, end));
  return Array.isArray(line) ? line : [];
}

/** The beginning of the line of an actor: its map, its key, and the number of its shared decision. */
const actorPattern = /^(\["(workers|tasks)","([\w.:-]+)",)(?:null|(\d{1,9})),/;
/** A longer one, of an id that is unusually long, is read at once. */
const headLengthMax = 100;

function createActorReader(fleet: Fleet, decisions: ReturnType<typeof createDecisionReader>) {
  const forms = { workers: createKnownForms(), tasks: createKnownForms() };
  return {
    /** Leaves an actor to be decoded when it is needed, if another of its form has been checked. */
    postpone(line: SnapshotLine): boolean {
      const { from, end } = line;
      const found = actorPattern.exec(line.text(from, Math.min(end, from + headLengthMax)));
      if (found === null) return false;
      const [, head, map, id, shared] = found as unknown as [string, string, keyof typeof forms, string, string?];
      if (shared !== undefined && !decisions.has(Number(shared))) return false;
      if (!forms[map].has(line, from + head.length)) {
        forms[map].addLast();
        return false;
      }
      const values = () => readLine(line).slice(2);
      if (map === 'workers') fleet.workers.setEncoded(id, () => readWorker(values(), id, fleet, decisions));
      else fleet.tasks.setEncoded(id, () => readTask(values(), id, fleet));
      return true;
    },
  };
}

const isPart = (part: Json): part is PartName => typeof part === 'string' && Object.hasOwn(parts, part);

/** The fold reads these actors without asking whether they are there. @throws Error: one is not */
function refuseUnknown({ workers, tasks, open, held, evaluating, escalated, queues }: Fleet): void {
  const refuse = (entity: string, id: string, where: string) => {
    throw new Error(`it holds no ${entity} '${id}', which is ${where}`);
  };
  for (const id of [...open, ...held])
    if (!workers.read(id)?.snapshot.context.worker.attempt) refuse('worker with an attempt', id, 'open');
  for (const id of evaluating)
    if (!tasks.read(id)?.snapshot.context.evaluations.length) refuse('task with an evaluation', id, 'evaluating');
  for (const { entity, id } of escalated.values())
    if (!(entity === 'worker' ? workers : tasks).has(id)) refuse(entity, id, 'escalated');
  for (const [name, { ready }] of queues)
    for (const { task } of ready) if (!tasks.has(task)) refuse('task', task, `ready in queue '${name}'`);
}
