/** Sums what agents have used in a span of time, by day, model and task. */
import { formatIsoTime } from '../../../machines/index.ts';
import {
  addUsage,
  byCost,
  byName,
  type NamedUsage,
  noUsage,
  showUsage,
  type UsageSum,
} from '../../../machines/replay/usage-sums.ts';
import { type Counted, otherNames, type UsageByName } from './buckets.ts';
import type { FleetStatistics, UsageLine } from './messages.ts';

/** More than anybody reads; the others are one line. */
const linesMax = 50;

/** @param areTasksKnown false: only what was used is known, and not for what */
export function summarizeUsage(counted: Counted, areTasksKnown: boolean): FleetStatistics['usage'] {
  const days: UsageByName = new Map();
  const models: UsageByName = new Map();
  const tasks: UsageByName = new Map();
  for (const { atMs, bucket } of counted) {
    // A day is a whole number of buckets, of any span.
    if (bucket.usage.reports > 0) add(days, formatIsoTime(atMs).slice(0, 10), bucket.usage);
    for (const [name, sum] of bucket.models) add(models, name, sum);
    for (const [name, sum] of bucket.tasks) add(tasks, name, sum);
  }
  if (days.size === 0) return null;
  return {
    days: namedIn(days).sort(byName).map(toLine),
    models: linesOf(models),
    tasks: areTasksKnown ? linesOf(tasks) : null,
  };
}

const add = (sums: UsageByName, name: string | null, more: UsageSum): unknown =>
  sums.set(name, addUsage(sums.get(name) ?? noUsage, more));

const namedIn = (sums: UsageByName): NamedUsage[] => [...sums].map(([name, sum]) => ({ name, ...sum }));

function linesOf(sums: UsageByName): UsageLine[] {
  const kept: UsageByName = new Map();
  for (const [at, { name, ...sum }] of namedIn(sums).sort(byCost).entries())
    add(kept, at < linesMax ? name : otherNames, sum);
  return namedIn(kept).map(toLine);
}

const toLine = ({ name, ...sum }: NamedUsage): UsageLine => ({ name, ...showUsage(sum) });
