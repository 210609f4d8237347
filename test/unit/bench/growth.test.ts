/** The chart of `npm run bench:growth`, from what was measured. */
import { expect, test } from 'vitest';
import { drawGrowth, shortNumber } from '../../../src/bench/growth/plot.ts';
import type { Axis, Point } from '../../../src/bench/growth/points.ts';

const point = (axis: Axis, size: number, serviceUs: number): Point => ({
  ...{ axis, size, serviceUs, serverUs: 100, p50Ms: 1, p99Ms: 3, floorP50Ms: 0.5, floorP99Ms: 1, fillMs: 0, load: 0 },
});
const titles = (svg: string) => [...svg.matchAll(/<title>(\w[\w-]*: [\d.]+)<\/title>/g)].map(([, text]) => text);

test('each point is a ratio to its own floor, or CPU time', () => {
  const svg = drawGrowth([point('replicas', 1, 200), point('replicas', 2, 400)]);
  expect(titles(svg)).toEqual([
    ...['p50: 2.00', 'p50: 2.00', 'p99: 3.00', 'p99: 3.00'],
    ...['service: 200', 'service: 400', 'nats-server: 100', 'nats-server: 100'],
  ]);
});

test('higher values stand higher, and the scale holds all of them', () => {
  const svg = drawGrowth([point('workers', 10, 130), point('workers', 1_000, 990)]);
  const [low, high] = [...svg.matchAll(/cy="([\d.]+)" r="3"><title>service/g)].map(([, cy]) => Number(cy));
  expect(high).toBeLessThan(low as number);
  expect(Number(high)).toBeGreaterThanOrEqual(30);
});

test('an axis that was not measured is not drawn', () => {
  const svg = drawGrowth([point('fleets', 1, 200)]);
  expect(svg).toContain('fleets in one process');
  expect(svg).not.toContain('replicas');
});

test('it has colours for a light and for a dark page', () => {
  expect(drawGrowth([point('fleets', 1, 200)])).toContain('@media (prefers-color-scheme: dark)');
});

test.each([
  [100, '100'],
  [1_000, '1k'],
  [10_000_000, '10M'],
])('%d is %s', (value, text) => {
  expect(shortNumber(value)).toBe(text);
});
