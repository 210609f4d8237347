/**
 * Writes the folded state of a fleet as lines of JSON, and restores it (protocol.md §15). Equal states give equal
 * lines, and a fold that continues from a snapshot reaches the same state as a fold from the beginning. When snapshots
 * are taken, stored and loaded is in `src/nats/snapshots/snapshots.ts`.
 *
 * Each line is a list: the name of a part of the fleet, then its values (`parts.ts`). Lines are made one by one while
 * the fold continues, but show the state at the start of the snapshot. Everything read is validated before it is used:
 * anyone with write access to the snapshot store can forge a snapshot with a correct digest.
 */
import type { RulesVersion } from '../../rules/rules.ts';
import type { Json } from '../../values/fields.ts';
import { createFleet, type Fleet } from '../fleet.ts';
import { readTask, readWorker } from './actors.ts';
import { createDecisionReader, createDecisionWriter } from './decisions.ts';
import { createKnownForms, type SnapshotLine } from './line-form.ts';
import { type CapturedPart, parts } from './parts.ts';

export type { SnapshotLine } from './line-form.ts';

/** The version of the line format. Other versions are not read. */
export const snapshotFormat = 8;

export type FleetSnapshot = {
  /** Each line ends with a line feed. Iterate once, at any pace. */
  readonly lines: Iterable<string>;
  /** Call it when reading is finished. */
  close(): void;
};

type PartName = keyof typeof parts;
const partNames = Object.keys(parts) as PartName[];
/** Parts that every snapshot contains exactly once. */
const singleParts: readonly PartName[] = ['rules', 'nowMs', 'seq', 'policySeq', 'stateSize', 'day', 'policies'];
/** Names the lines of shared decisions, which are not a part of the fleet. */
const sharedDecisions = 'decision';

/** Erases the type of the part's value. */
const partOf = (name: PartName) => parts[name] as (typeof parts)['seq'];

/** Only one snapshot of a fleet may be open at a time. Call it between entries. */
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
 * @param known the rules of this release; if the snapshot follows other rules, the fleet's `unknownRules` is set
 * @throws Error if the lines are not a valid snapshot
 */
export function restoreFleet(name: string, lines: Iterable<SnapshotLine>, known?: readonly RulesVersion[]): Fleet {
  const fleet: Fleet = createFleet(name, { rules: known });
  const decisions = createDecisionReader();
  const actors = createActorReader(fleet, decisions);
  const missing = new Set<string>(singleParts);
  for (const line of lines) {
    if (actors.postpone(line)) continue;
    const [part, ...values] = readLine(line);
    if (part === sharedDecisions) decisions.add(values);
    else if (!isPart(part)) throw new Error(`unknown part '${String(part).slice(0, 100)}'`);
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
  for (const part of missing) throw new Error(`part ${part} is missing`);
  checkReferences(fleet);
  return fleet;
}

function readLine({ from, end, text }: SnapshotLine): readonly Json[] {
  const line: Json = JSON.parse(text(from, end));
  return Array.isArray(line) ? line : [];
}

/** Matches the beginning of an actor's line: its map, its key, and the number of its shared decision. */
const actorPattern = /^(\["(workers|tasks)","([\w.:-]+)",)(?:null|(\d{1,9})),/;
/** Lines with a longer head, because of an unusually long id, are decoded at once. */
const headLengthMax = 100;

function createActorReader(fleet: Fleet, decisions: ReturnType<typeof createDecisionReader>) {
  const forms = { workers: createKnownForms(), tasks: createKnownForms() };
  return {
    /** Defers decoding an actor until it is needed, if another line of the same form has been checked. */
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

/** Checks references that the fold relies on. @throws Error if one is dangling */
function checkReferences({ workers, tasks, open, held, evaluating, escalated, queues }: Fleet): void {
  const refuse = (entity: string, id: string, where: string) => {
    throw new Error(`${entity} '${id}' is missing, although it is ${where}`);
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
