/**
 * The folded state of a fleet as lines of text, and back (protocol.md §15). Equal states give equal lines, and a fold
 * that continues from them gives the same state as one from the beginning.
 *
 * Lines are `<part> <key> <JSON>`, or `<part>/<shared> <key> <JSON>` with the number of the shared part of the value.
 * They are made one by one, from the state at the start of the snapshot, while the fold continues. When a snapshot is
 * read, a value is decoded when the fold first needs it.
 */
import type { Rules } from '../../rules/rules.ts';
import { createFleet, type Fleet } from '../fleet.ts';
import { createPacker, createUnpacker } from './packing.ts';
import { type CapturedPart, type Line, parts } from './parts.ts';
import { workerLegend } from './worker-text.ts';

/** The format of the lines. Another format is not read. */
export const snapshotFormat = 6;

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
const partOf = (name: PartName) => parts[name] as (typeof parts)['seq'];

/** One of a fleet at a time, and between two entries. */
export function takeSnapshot(fleet: Fleet): FleetSnapshot {
  const captured = partNames.map((name): readonly [PartName, CapturedPart] => [
    name,
    partOf(name).capture(fleet[name] as number, fleet),
  ]);
  return {
    lines: linesOf(captured),
    close() {
      for (const [, { release }] of captured) release();
    },
  };
}

function* linesOf(captured: readonly (readonly [PartName, CapturedPart])[]): Generator<string> {
  const packer = createPacker(workerLegend);
  for (const [name, { texts }] of captured) {
    for (const [key, json, shared] of texts(packer)) {
      for (const [table, text] of packer.takeTables()) yield `${table} - ${text}\n`;
      yield shared === undefined ? `${name} ${key} ${json}\n` : `${name}/${shared} ${key} ${json}\n`;
    }
  }
}

/** `json` gives the rest of the line; it is called at once or much later. */
export type SnapshotLine = { readonly part: string; readonly key: string; readonly json: () => string };

/**
 * @param known the rules of this release; where the snapshot's are none of them the fleet says so (`unknownRules`)
 * @throws Error: these are no lines of a snapshot
 */
export function restoreFleet(name: string, lines: Iterable<SnapshotLine>, known?: readonly Rules[]): Fleet {
  const fleet: Fleet = createFleet(name, { rules: known });
  const unpacker = createUnpacker(workerLegend);
  const missing = new Set(singleParts);
  for (const { part, key, json } of lines) {
    if (unpacker.addTable(part, json)) continue;
    const slash = part.indexOf('/');
    const name = slash < 0 ? part : part.slice(0, slash);
    if (!Object.hasOwn(parts, name)) throw new Error(`'${part}' is no part of a snapshot`);
    missing.delete(name as PartName);
    restorePart(fleet, name as PartName, { key, json, shared: slash < 0 ? null : part.slice(slash + 1) }, unpacker);
  }
  for (const name of missing) throw new Error(`it holds no ${name}`);
  refuseUnknown(fleet);
  return fleet;
}

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

function restorePart(fleet: Fleet, part: PartName, line: Line, unpacker: ReturnType<typeof createUnpacker>): void {
  const restored = partOf(part).restore(fleet[part] as number, line, fleet, unpacker);
  (fleet as Record<PartName, unknown>)[part] = restored;
}
