/** The table of `npm run bench:peers`. */
import { expect, test } from 'vitest';
import { compare, formatSummaries, summarise } from '../../../bench/peers/report.ts';
import { type Measured, nothingMeasured } from '../../../bench/peers/rounds.ts';

const measured = (stop: number, rate: number): Measured => ({
  ...nothingMeasured(),
  stop: [stop, stop, stop],
  report: [0.1],
  rate: [rate],
  rateOne: [rate / 2],
  rateLoop: [rate / 4],
  service: [100],
  store: [200],
});
const named = new Map([['kv', { name: 'NATS KV', durability: 'file' }]]);

test('each peer is compared with the floor of the same run', () => {
  const summaries = summarise(
    new Map([
      ['floor', measured(0.5, 4_000)],
      ['kv', measured(1, 1_000)],
    ]),
    named,
  );
  expect(summaries[1]).toMatchObject({
    id: 'kv',
    name: 'NATS KV',
    stopP50Ms: 1,
    toFloor: { p50: 2, p99: 2 },
    rate: 1_000,
    rateOneWorker: 500,
    rateWithReports: 250,
    serviceUs: 100,
    storeUs: 200,
  });
  expect(formatSummaries(summaries).split('\n')[2]).toMatch(
    /^NATS KV +1\.00 +2\.00 +1\.00 +2\.00 +0\.10 +1,000 +500 +250 +100 +200 +file$/,
  );
});

test('a goal compares two measured peers', () => {
  const summaries = summarise(
    new Map([
      ['stopgate', measured(0.8, 2_600)],
      ['kv', measured(1, 1_000)],
    ]),
    named,
  );
  expect(compare(summaries).map(({ name, value }) => [name, value])).toEqual([
    ['by request p50 / KV', 0.8],
    ['64 at once by request / KV', 2.6],
    ['64 at once on one worker, by request / KV', 2.6],
  ]);
});

test('a figure that the system does not report is a dash', () => {
  const silent = { ...measured(1, 1), service: [Number.NaN], store: [Number.NaN] };
  expect(formatSummaries(summarise(new Map([['kv', silent]]), named)).split('\n')[1]).toMatch(
    /1\.00 +- +1\.00 +- +0\.10 +1 +1 +0 +- +- +file$/,
  );
});
