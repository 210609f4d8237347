/** The OTLP receiver remembers the last value of each cumulative series, but none of its texts. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createUsageReader } from '../../../src/http/otlp/usage.ts';

const cost = (usd: number, attributes: Record<string, string>) => ({
  resourceMetrics: [
    {
      scopeMetrics: [
        {
          metrics: [
            {
              name: 'claude_code.cost.usage',
              sum: {
                aggregationTemporality: 2,
                dataPoints: [
                  {
                    startTimeUnixNano: '2000000000000000000',
                    timeUnixNano: '1',
                    asDouble: usd,
                    attributes: Object.entries({ 'session.id': 's1', ...attributes }).map(([key, text]) => ({
                      key,
                      value: { stringValue: text },
                    })),
                  },
                ],
              },
            },
          ],
        },
      ],
    },
  ],
});

/** Acts like a service that stores everything. */
const takeAll = (read: ReturnType<typeof createUsageReader>, body: object) =>
  read('metrics', body).map(({ markStored, report }) => {
    markStored();
    return report;
  });

test('each series counts separately, from its last value', () => {
  const read = createUsageReader(0);
  const usd = (total: number, model: string) => takeAll(read, cost(total, { model })).map((report) => report.usd);
  expect([usd(2, 'a'), usd(5, 'a'), usd(1, 'b'), usd(5, 'a'), usd(6, 'a')]).toEqual([[2], [3], [1], [], [1]]);
});

test('a series that restarts with the same start time counts from zero; a late point counts nothing', () => {
  const read = createUsageReader(0);
  const usd = (total: number, timeUnixNano: string) => {
    const body = cost(total, {});
    Object.assign(body.resourceMetrics[0]?.scopeMetrics[0]?.metrics[0]?.sum.dataPoints[0] ?? {}, { timeUnixNano });
    return takeAll(read, body).map((report) => report.usd);
  };
  expect([usd(5, '10'), usd(2, '20'), usd(4, '15'), usd(3, '30'), usd(1, '30')]).toEqual([[5], [2], [], [1], []]);
});

test('two processes of one session are distinguished by their resources', () => {
  const read = createUsageReader(0);
  const usd = (total: number, pid: string) => {
    const [metrics] = cost(total, {}).resourceMetrics;
    const resource = { attributes: [{ key: 'process.pid', value: { stringValue: pid } }] };
    return takeAll(read, { resourceMetrics: [{ ...metrics, resource }] }).map((report) => report.usd);
  };
  expect([usd(5, '1'), usd(2, '2'), usd(6, '1'), usd(3, '2')]).toEqual([[5], [2], [1], [1]]);
});

// Root cause: the keys of up to 100,000 series contained the attributes of their exporter, up to 4 MiB per request.
test('long attributes use no memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const read = createUsageReader(0);
  const used = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  for (let count = 0; count < 20; count += 1) takeAll(read, cost(1, { pad: `${count}${'p'.repeat(1_048_576)}` }));
  expect(used() - before).toBeLessThan(5 * 1_048_576);
  expect(takeAll(read, cost(3, { pad: `0${'p'.repeat(1_048_576)}` }))).toMatchObject([{ usd: 2 }]);
});
