/** Where stops led, and where they would lead: both on the worker's chart, with how many. */
import { useMemo } from 'preact/hooks';
import { workerStates } from '../../../../machines/values/states.ts';
import type { WhatIfDifference } from '../../messages.ts';
import { Chart } from '../chart/chart.tsx';
import { charts } from '../chart/charts.ts';

type Known = WhatIfDifference & { readonly after: NonNullable<WhatIfDifference['after']> };

export function StateCharts({ differences }: { differences: readonly WhatIfDifference[] }) {
  const known = differences.filter((it): it is Known => it.after !== null);
  const [before, after] = useMemo(
    () => [countStates(known.map((it) => it.before)), countStates(known.map((it) => it.after))],
    [differences],
  );
  return (
    <div class="lab-charts">
      <figure>
        <figcaption>Before: where they led</figcaption>
        <Chart machine="worker" {...charts.worker} counts={before} heat viewKey="lab-before" />
      </figure>
      <figure>
        <figcaption>After: where they would lead</figcaption>
        <Chart machine="worker" {...charts.worker} counts={after} heat viewKey="lab-after" />
      </figure>
    </div>
  );
}

/** In the order of the drawing's states. */
const countStates = (decisions: readonly { readonly state: string }[]): number[] =>
  workerStates.map((state) => decisions.filter((it) => it.state === state).length);
