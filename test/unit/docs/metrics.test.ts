/**
 * The table of docs/operations/metrics.md is generated from the registry. `npx vitest run
 * test/unit/docs/metrics.test.ts
 * -u` writes it.
 */
import { readFileSync } from 'node:fs';
import type { Metric } from 'prom-client';
import { expect, test } from 'vitest';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

const page = new URL('../../../docs/operations/metrics.md', import.meta.url);

test('docs/operations/metrics.md lists every metric with kind, labels and description', async () => {
  const { registry } = createMetrics();
  const metrics = (await registry.getMetricsAsJSON()).filter(({ name }) => !/^stopgate_(process|nodejs)_/.test(name));
  const rows = metrics.map(({ name, type, help }) => {
    const { labelNames } = registry.getSingleMetric(name) as Metric & { labelNames: string[] };
    return `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(' ')} | ${help} |`;
  });
  const table = ['| metric | kind | labels | |', '| --- | --- | --- | --- |', ...rows].join('\n');
  const written = readFileSync(page, 'utf8').replace(
    /<!-- metrics -->\n[\s\S]*?\n<!-- \/metrics -->/,
    `<!-- metrics -->\n${table}\n<!-- /metrics -->`,
  );
  expect(rows.length).toBeGreaterThan(10);
  expect(written).toContain(table);
  await expect(written).toMatchFileSnapshot('../../../docs/operations/metrics.md');
});
