/** spend: sums the usage of agents in the log by day, model, task or worker. */
import { type Fleet, formatIsoTime, type UsageReport } from '../../../../machines/index.ts';
import {
  addUsage,
  byCost,
  byName,
  type NamedUsage,
  noUsage,
  showUsage,
  sumOfReport,
  type UsageSum,
} from '../../../../machines/values/usage.ts';
import { foldMessage } from '../../../host/fold/fold-message.ts';
import type { LogMessage } from '../../../nats/log/log-reader.ts';
import type { Requester } from '../../../nats/requester.ts';
import { formatTable } from '../../../terminal/table.ts';
import { choice, defineCommand, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { beginAt, type FoldStart } from '../../fold-log.ts';
import { entryOf } from '../../log-source.ts';
import { clientArgs, readsLog, timeForms, toTime } from '../../option-values.ts';
import { formatDollars } from '../../text/state-text.ts';

const dimensions = ['day', 'model', 'task', 'worker'] as const;
type Dimension = (typeof dimensions)[number];

/** A usage report and the name it counts for. `name` is null if no model was named, or no task was held. */
type Report = { readonly name: string | null; readonly data: UsageReport };

export const spend = defineCommand({
  args: {
    by: choice('WHAT', dimensions, 'group by this (default: day)'),
    since: option('TIME', `only usage since then: ${timeForms}`, toTime),
    ...clientArgs,
  },
  details: [
    'Sums the usage that agents reported (usage.reported entries): dollars, tokens (input, output, written to a cache), tokens read from a cache, and the number of reports. Days are UTC days of the log. Usage counts for the task that the worker claimed last.',
    `Excludes usage that retention has removed from the log. ${readsLog}`,
  ],
  examples: ['stopgate spend', 'stopgate spend --by model --since 7d', 'stopgate spend --by task --json'],
  run: async ({ flags, io, out, asTyped }) => {
    const by: Dimension = flags.by ?? 'day';
    const { since: sinceMs = 0 } = flags;
    return withRequester(flags, io, async (requester, fleet) => {
      const rows = await sumUp(readReports(requester, fleet, by, sinceMs));
      rows.sort(by === 'day' ? byName : byCost);
      if (flags.json) await out.json(rows.map(({ name, ...sum }) => ({ [by]: name, ...showUsage(sum) })));
      else if (rows.length === 0) await out.print(...emptyText(fleet, flags.since).map(asTyped));
      else await out.print(...formatTable(headings(by), [...rows, totalOf(rows)].map(cellsOf), out.width()));
      return 0;
    });
  },
});

/**
 * Reads the usage that counts. Folds the whole log, because only the state tells which task a worker held and which of
 * several sources counts.
 */
async function* readReports(
  requester: Requester,
  name: string,
  by: Dimension,
  sinceMs: number,
): AsyncGenerator<Report> {
  const { batches } = await requester.read();
  let from: FoldStart | null = null;
  for await (const batch of batches)
    for (const message of batch) {
      from ??= await beginAt(requester, name, message.seq);
      for (const used of message.seq > from.seq ? usedIn(from.fleet, message) : usedBefore(message))
        if (message.atMs >= sinceMs) yield { name: nameOf(by, message, used), data: used.report };
    }
}

type Used = { readonly worker: string; readonly task: string | null; readonly report: UsageReport };

const usedIn = (fleet: Fleet, message: LogMessage): readonly Used[] =>
  foldMessage(fleet, message).outcomes.flatMap((outcome) => (outcome.kind === 'used' ? [outcome] : []));

/** Reads an entry from before the snapshot that is still in the log. It counts, but its task is unknown. */
function usedBefore(message: LogMessage): readonly Used[] {
  const entry = entryOf(message);
  return entry?.type === 'usage.reported' ? [{ worker: entry.id, task: null, report: entry.data }] : [];
}

function nameOf(by: Dimension, message: LogMessage, { worker, task, report }: Used): string | null {
  switch (by) {
    case 'task':
      return task;
    case 'worker':
      return worker;
    case 'model':
      return report.model ?? null;
    case 'day':
      return dayOf(message);
  }
}

const dayOf = ({ atMs }: LogMessage): string => formatIsoTime(atMs).slice(0, 10);

async function sumUp(reports: AsyncIterable<Report>): Promise<NamedUsage[]> {
  const sums = new Map<string | null, UsageSum>();
  for await (const { name, data } of reports) sums.set(name, addUsage(sums.get(name) ?? noUsage, sumOfReport(data)));
  return [...sums].map(([name, sum]) => ({ name, ...sum }));
}

const totalOf = (rows: readonly NamedUsage[]): NamedUsage => ({ name: 'total', ...rows.reduce(addUsage, noUsage) });

const headings = (by: Dimension) => [by.toUpperCase(), 'USD', 'TOKENS', 'CACHE READ', 'REPORTS'];

function cellsOf({ name, ...sum }: NamedUsage) {
  const { usd, tokens, cacheRead, reports } = showUsage(sum);
  // Zero dollars are unknown: many agents report tokens alone.
  const amounts = [
    usd === 0 ? '-' : formatDollars(usd),
    ...[tokens, cacheRead, reports].map((amount) => amount.toLocaleString('en')),
  ];
  return [{ text: name ?? '-', isWhole: true }, ...amounts.map((text) => ({ text, isNumber: true }))];
}

const emptyText = (fleet: string, sinceMs: number | undefined): string[] =>
  sinceMs === undefined
    ? [
        `No agent in fleet '${fleet}' has reported usage. "stopgate init claude --user --usage" makes an agent report it,`,
        `and any program can: stopgate publish worker w1 usage.reported '{"input":1200,"usd":0.02}'`,
      ]
    : [`No agent in fleet '${fleet}' has reported usage since ${formatIsoTime(sinceMs)}.`];
