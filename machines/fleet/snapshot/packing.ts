/**
 * Makes the lines of a snapshot small: the keys of similar objects are written once (a shape), and so are values that
 * many actors share. Both are separate lines, before the first line that needs them.
 */
import { z } from 'zod';
import { type DecisionTemplate, readTemplate } from './decision-text.ts';
import { judge, judgeAs, type Legend } from './shapes.ts';

export type Json = unknown;
/** The number of an object's shape, then the values of its keys. */
export type PackedJson = readonly [shape: number, ...values: Json[]];

type Table = 'legend' | 'shape' | 'value' | 'decision';

/** This many values are shared; more are written in place. Verdicts with a number in their text all differ. */
const sharedMax = 10_000;
/** A longer one is hardly met twice. */
const formLengthMax = 4_096;
const shapeShape = z.array(z.string());

export type Packer = {
  /** Keys whose value is undefined are left out, as JSON does. */
  pack(value: object): PackedJson;
  /** The number of `value` in a table, by its unique `name`; the value itself if the table is full. */
  share(name: string, value: Json): Json;
  /** The number of a decision's template, in a separate table; null if that is full. */
  shareDecision(text: string): number | null;
  /** The lines that are due before the next one. */
  takeTables(): [table: Table, text: string][];
};

export function createPacker(legend: Legend): Packer {
  const shapes = new Map<string, number>();
  const shared = new Map<string, number>();
  const decisions = new Map<string, number>();
  let due: [table: Table, text: string][] = [['legend', JSON.stringify(legend)]];
  const add = (table: Table, known: Map<string, number>, name: string, toText: () => string): number | null => {
    const found = known.get(name);
    if (found !== undefined) return found;
    if (known.size >= sharedMax) return null;
    due.push([table, toText()]);
    known.set(name, known.size);
    return known.size - 1;
  };
  return {
    pack(value) {
      const keys: string[] = [];
      const values: Json[] = [];
      for (const [key, held] of Object.entries(value)) {
        if (held === undefined) continue;
        keys.push(key);
        values.push(held);
      }
      const text = JSON.stringify(keys);
      const known = shapes.get(text);
      if (known !== undefined) return [known, ...values];
      const shape = shapes.size;
      shapes.set(text, shape);
      due.push(['shape', text]);
      return [shape, ...values];
    },
    share: (name, value) => add('value', shared, name, () => JSON.stringify(value)) ?? value,
    shareDecision: (text) => add('decision', decisions, text, () => text),
    takeTables() {
      const taken = due;
      if (taken.length > 0) due = [];
      return taken;
    },
  };
}

export type Unpacker = {
  unpack(packed: PackedJson): object;
  shared(value: Json): Json;
  /** @throws Error: there is no such decision */
  decision(number: number): DecisionTemplate;
  legend(): Legend;
  /** True if texts of workers mean the same in this release. */
  hasOwnLegend(): boolean;
  /** Runs `judge` unless it has passed for an equal text; many actors differ in nothing but names and numbers. */
  judgeOnce(form: string, judge: () => void): void;
  /** @returns false if the line is not a table */
  addTable(table: string, text: () => string): boolean;
};

export function createUnpacker(own: Legend): Unpacker {
  const shapes: (readonly string[])[] = [];
  const values: Json[] = [];
  const decisions: DecisionTemplate[] = [];
  const passed = new Set<string>();
  let legend = own;
  let isOwn = true;
  const tables: Readonly<Record<Table, (text: string) => void>> = {
    legend(text) {
      isOwn = text === JSON.stringify(own);
      if (isOwn) return;
      const read = JSON.parse(text) as Legend;
      judgeAs('legend', read);
      legend = read;
    },
    shape(text) {
      const keys = JSON.parse(text) as string[];
      judge(shapeShape, keys);
      shapes.push(keys);
    },
    value: (text) => void values.push(JSON.parse(text)),
    decision: (text) => void decisions.push(readTemplate(text)),
  };
  return {
    unpack([shape, ...held]) {
      const keys = shapes[shape];
      if (keys === undefined) throw new Error(`the snapshot has no shape ${shape}`);
      return Object.fromEntries(keys.map((key, index) => [key, held[index]]));
    },
    shared: (value) => (typeof value === 'number' ? values[value] : value),
    decision(number) {
      const found = decisions[number];
      if (found === undefined) throw new Error(`the snapshot has no decision ${number}`);
      return found;
    },
    legend: () => legend,
    hasOwnLegend: () => isOwn,
    judgeOnce(form, judge) {
      if (passed.has(form)) return;
      judge();
      if (form.length <= formLengthMax && passed.size < sharedMax) passed.add(form);
    },
    addTable(table, text) {
      if (!Object.hasOwn(tables, table)) return false;
      tables[table as Table](text());
      return true;
    },
  };
}

export const isSame = (a: unknown, b: unknown): boolean => a === b || (isEmpty(a) && isEmpty(b));

/** An empty list or an empty object: no field of a context is ever the one and then the other. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  for (const _ in value) return false;
  return true;
}
