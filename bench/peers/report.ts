/** The table of `npm run bench:peers`, its goals and its JSON. */
import { formatTable } from '../../src/terminal/table.ts';
import { type Figure, figure, quantile } from '../figures.ts';
import type { Measured } from './rounds.ts';

/** The printed results of one peer. */
export type Summary = {
  readonly id: string;
  readonly name: string;
  readonly durability: string;
  readonly stopP50Ms: number;
  readonly stopP99Ms: number;
  readonly reportP50Ms: number;
  /** Stops per second, 64 at once. */
  readonly rate: number;
  readonly rateOneWorker: number;
  readonly rateWithReports: number;
  /** Microseconds of CPU per stop. */
  readonly serviceUs: number;
  readonly storeUs: number;
  /** Null if the floor was not measured. */
  readonly toFloor: { readonly p50: number; readonly p99: number } | null;
};

export type Named = { readonly name: string; readonly durability: string };

export function summarise(measured: ReadonlyMap<string, Measured>, named: ReadonlyMap<string, Named>): Summary[] {
  const floor = measured.get('floor');
  return [...measured].map(([id, { report, stop, rate, rateOne, rateLoop, service, store }]) => ({
    id,
    name: named.get(id)?.name ?? id,
    durability: named.get(id)?.durability ?? '',
    stopP50Ms: quantile(stop, 0.5),
    stopP99Ms: quantile(stop, 0.99),
    reportP50Ms: quantile(report, 0.5),
    rate: quantile(rate, 0.5),
    rateOneWorker: quantile(rateOne, 0.5),
    rateWithReports: quantile(rateLoop, 0.5),
    serviceUs: quantile(service, 0.5),
    storeUs: quantile(store, 0.5),
    toFloor:
      floor === undefined
        ? null
        : {
            p50: quantile(stop, 0.5) / quantile(floor.stop, 0.5),
            p99: quantile(stop, 0.99) / quantile(floor.stop, 0.99),
          },
  }));
}

const headings = [
  '',
  'p50 ms',
  'x floor',
  'p99 ms',
  'x floor',
  'event ms',
  '64 at once /s',
  'one worker /s',
  'with events /s',
  'CPU us',
  'store us',
  'on the disk',
];
const width = 220;

export function formatSummaries(summaries: readonly Summary[]): string {
  const shown = (value: number, digits: number) =>
    Number.isNaN(value)
      ? '-'
      : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const rows = summaries.map((summary) =>
    [
      summary.name,
      shown(summary.stopP50Ms, 2),
      shown(summary.toFloor?.p50 ?? Number.NaN, 2),
      shown(summary.stopP99Ms, 2),
      shown(summary.toFloor?.p99 ?? Number.NaN, 2),
      shown(summary.reportP50Ms, 2),
      shown(summary.rate, 0),
      shown(summary.rateOneWorker, 0),
      shown(summary.rateWithReports, 0),
      shown(summary.serviceUs, 0),
      shown(summary.storeUs, 0),
      summary.durability,
    ].map((text) => ({ text })),
  );
  return `${formatTable(headings, rows, width).join('\n')}\n`;
}

/** The goals that compare two peers. Omits those with a peer that was not measured. */
export function compare(summaries: readonly Summary[]): Figure[] {
  const find = (id: string) => summaries.find((summary) => summary.id === id);
  const bare = find('bare');
  const bareFast = find('bare-fast');
  const asked = find('stopgate');
  const fast = find('stopgate-fast');
  const kv = find('kv');
  const direct = find('postgres');
  const goals: Figure[] = [
    figure('by request p50 / KV', ratio(asked, kv, 'stopP50Ms'), 'x', { atMost: 0.8 }),
    figure('by the fast path p50 / KV', ratio(fast, kv, 'stopP50Ms'), 'x', { atMost: 0.55 }),
    figure('by request p50 / bare path', ratio(asked, bare, 'stopP50Ms'), 'x', { atMost: 1.25 }),
    figure('by the fast path p50 / bare path, fast', ratio(fast, bareFast, 'stopP50Ms'), 'x', { atMost: 1.25 }),
    figure('by request p50 / floor', asked?.toFloor?.p50 ?? Number.NaN, 'x'),
    figure('by the fast path p50 / floor', fast?.toFloor?.p50 ?? Number.NaN, 'x'),
    figure('by request p99 / floor p99', asked?.toFloor?.p99 ?? Number.NaN, 'x', { atMost: 2 }),
    figure('64 at once by request / KV', ratio(asked, kv, 'rate'), 'x', { atLeast: 1.3 }),
    figure('64 at once by the fast path / KV', ratio(fast, kv, 'rate'), 'x', { atLeast: 2 }),
    figure('64 at once on one worker, by request / KV', ratio(asked, kv, 'rateOneWorker'), 'x', { atLeast: 1.3 }),
    figure('by request p50 / Postgres, called directly', ratio(asked, direct, 'stopP50Ms'), 'x'),
    figure('Postgres, called directly p50 / floor', direct?.toFloor?.p50 ?? Number.NaN, 'x'),
  ];
  return goals.filter(({ value }) => !Number.isNaN(value));
}

type Measure = 'stopP50Ms' | 'rate' | 'rateOneWorker';
const ratio = (of: Summary | undefined, to: Summary | undefined, measure: Measure): number =>
  (of?.[measure] ?? Number.NaN) / (to?.[measure] ?? Number.NaN);
