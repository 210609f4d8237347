/** The maximum cost of one entry: hostile entries of 64 KiB, each into a fleet that earlier entries made hostile. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createFleet, type Fleet, foldEntry, payloadBytesMax, readEntry } from '../machines/index.ts';
import { type Figure, figure, quantile } from './figures.ts';
import { hostileEntries, type Publication } from './hostile-entries.ts';

const rounds = 10;
const heapRounds = 3;

type Cost = { readonly name: string; readonly ms: number; readonly heapBytes: number };

export function measureBounds(_url: string, scale: number): Figure[] {
  // Equivalent to --expose-gc, for a process that was started without it: new contexts have `gc`.
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  // Collect several times: the first run ends concurrent work, and weak references go later.
  const collect = () => {
    for (let from = Number.POSITIVE_INFINITY; process.memoryUsage().heapUsed < from - 1_024; ) {
      from = process.memoryUsage().heapUsed;
      gc();
    }
  };
  const costs = Object.entries(hostileEntries).map(([name, { before, entry }]): Cost => {
    const times = Array.from({ length: Math.ceil(rounds * scale) + 3 }, () => timeOf(prepare(before), entry));
    // The minimum counts: the first runs are not compiled yet.
    return { name, ms: Math.min(...times), heapBytes: heapOf(collect, before, entry) };
  });
  const slowest = costs.reduce((most, cost) => (cost.ms > most.ms ? cost : most));
  const largest = costs.reduce((most, cost) => (cost.heapBytes > most.heapBytes ? cost : most));
  return [
    { ...figure('CPU of one entry, at most', slowest.ms, 'ms', { atMost: 5 }), note: slowest.name },
    { ...figure('heap of one entry, at most', largest.heapBytes, 'B', { atMost: 262_144 }), note: largest.name },
  ];
}

let seq = 0;

function fold(fleet: Fleet, [tail, data]: Publication): void {
  const text = JSON.stringify(data);
  foldText(fleet, tail, text);
}

function foldText(fleet: Fleet, tail: string, text: string): void {
  const entry = readEntry(`stopgate.main.${tail}`, text, Buffer.byteLength(text));
  seq += 1;
  if (entry !== null && 'data' in entry) foldEntry(fleet, { seq, atMs: seq, entry });
}

function prepare(before: readonly Publication[]): Fleet {
  const fleet = createFleet('main');
  for (const each of before) fold(fleet, each);
  return fleet;
}

function timeOf(fleet: Fleet, [tail, data]: Publication): number {
  const text = JSON.stringify(data);
  if (Buffer.byteLength(text) > payloadBytesMax) throw new Error(`${tail} has ${Buffer.byteLength(text)} bytes`);
  // CPU instead of time, since other processes use the machine too.
  const before = process.cpuUsage();
  foldText(fleet, tail, text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Heap bytes that remain in use after the entry. */
function heapOf(collect: () => void, before: readonly Publication[], entry: Publication): number {
  const grown = Array.from({ length: heapRounds }, () => {
    const fleet = prepare(before);
    collect();
    const from = process.memoryUsage().heapUsed;
    fold(fleet, entry);
    collect();
    // Used after the measurement, so that it stays in memory until then.
    return fleet.seq === seq ? process.memoryUsage().heapUsed - from : Number.NaN;
  });
  return quantile(grown, 0.5);
}
