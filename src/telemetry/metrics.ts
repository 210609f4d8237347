/**
 * The service's metrics: in a separate registry and, through the OpenTelemetry API, wherever an SDK in this process
 * sends them, which costs nothing without an SDK. Each counter is counted by a single module, which is named here.
 * Gauges are read when they are scraped. Imports none of our modules, so that all of them can count.
 */
import { type ObservableResult, metrics as openTelemetry } from '@opentelemetry/api';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const prefix = 'stopgate_';

export type Metrics = ReturnType<typeof createMetrics>;

/** Values of a fleet for its gauges. */
type FleetGauges = {
  readonly name: string;
  /** Null if the fleet is being served. */
  readonly fault: unknown;
  readonly foldedSeq: number;
  readonly lag: number;
  readonly workers: number;
  readonly openAttempts: number;
  readonly neglected: number;
  /** The used share of the fleet's memory limit, from 0 to 1 (protocol.md §2). */
  readonly stateShare: number;
};

/** How much of a limit this process uses. */
type BoundUse = { readonly bound: string; readonly used: number; readonly max: number };

/** Limits of the process. The module that enforces one registers it here; it is read on demand. */
function createBounds() {
  const reads = new Map<string, () => Omit<BoundUse, 'bound'>>();
  return {
    add: (bound: string, max: number, used: () => number) => void reads.set(bound, () => ({ used: used(), max })),
    list: (): BoundUse[] => [...reads].map(([bound, read]) => ({ bound, ...read() })),
  };
}

/** `checksWaiting`: the number of checks that wait for a free slot of the runner in this service. */
export function createMetrics(checksWaiting = () => 0) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix });
  const instruments = createInstruments(registry);
  const { counter, gauge, histogram } = instruments;
  const { ofFleet, followFleets } = createFleetGauges(instruments);
  return {
    registry,
    followFleets,
    bounds: createBounds(),
    /** Counted once per decision, by the replica that acts for its attempt. */
    decisions: counter('decisions_total', 'Decisions that this replica made.', ['fleet', 'decision', 'cause']),
    decisionSeconds: histogram(
      'decision_seconds',
      'Seconds from an attempt to its decision, checks and holds included.',
      ['fleet'],
      // A fold takes about a millisecond, checks take seconds, and holds minutes.
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 1_800],
    ),
    entriesFolded: counter('entries_folded_total', 'Entries of the log that this replica folded.', ['fleet']),
    deadLetters: counter('dead_letters_total', 'Malformed entries, by code.', ['fleet', 'code']),
    refused: counter('refused_total', 'Entries that were not valid when they arrived.', ['fleet']),
    ...createHookMetrics(instruments),
    ...createUsageMetrics(instruments),
    ...createLimitMetrics(instruments),
    policyConflicts: counter(
      'policy_conflicts_total',
      'Times that the policies in force were not those of our stopgate.yaml.',
      ['fleet'],
    ),
    /** Counted by the webhook. */
    webhooks: counter('webhooks_total', 'Webhooks of escalations: delivered, failed, and retried.', ['outcome']),
    webhooksWaiting: gauge('webhooks_waiting', 'Failed webhooks that wait for a retry.'),
    /** Counted at the edge that received the request: NATS, or HTTP under `/api`. */
    requests: counter(
      'requests_total',
      'Requests over NATS and /api, by verb and status; fleet none: not served here.',
      ['fleet', 'verb', 'status'],
    ),
    /** Counted by `http`, including hooks. */
    httpRequests: counter('http_requests_total', 'Answered HTTP requests.', ['method', 'route', 'status']),
    ready: ofFleet('ready', '1: the fleet is served; 0: it is not, and /readyz says why.', ({ fault }) =>
      fault === null ? 1 : 0,
    ),
    workers: ofFleet('workers', 'Workers that this replica knows.', ({ workers }) => workers),
    openAttempts: ofFleet('open_attempts', 'Attempts without a decision yet.', ({ openAttempts }) => openAttempts),
    neglected: ofFleet(
      'neglected',
      'Workers with a request that has waited too long, and unattended queues.',
      ({ neglected }) => neglected,
    ),
    stateShare: ofFleet(
      'state_share',
      'Used share of the space for workers and tasks of the fleet; 1 means full.',
      ({ stateShare }) => stateShare,
    ),
    checksWaiting: gauge(
      'checks_waiting',
      'Checks that wait for a free slot of the runner in this service (concurrency).',
      [],
      (own) => own.set(checksWaiting()),
    ),
    foldSeq: ofFleet('fold_seq', 'The last entry of the log that was folded.', ({ foldedSeq }) => foldedSeq),
    foldLag: ofFleet('fold_lag', 'Entries in the log that are not yet folded.', ({ lag }) => lag),
  };
}

/** Counts refusals because of limits, and failures because of too much traffic. */
const createLimitMetrics = ({ counter }: ReturnType<typeof createInstruments>) => ({
  /** Counted where the limit is enforced: `http bodies`, `checks waiting`, admission, `received requests`. */
  bounded: counter('bounded_total', 'Refusals because a limit was reached, by limit.', ['bound']),
  /** Counted by `http`. */
  unread: counter(
    'unread_fields_total',
    'Fields of hook calls and telemetry that were ignored because they could not be read.',
    ['from', 'field'],
  ),
  /** Counted by the link to NATS. */
  connectionBreaks: counter('connection_breaks_total', 'Connections to NATS that broke and were restored.', [
    'connection',
  ]),
});

/** Metrics of task hooks. */
const createHookMetrics = ({ counter, histogram }: ReturnType<typeof createInstruments>) => ({
  hookAnswers: counter('hook_answers_total', 'Answers of task hooks, by type; skip: no answer.', [
    'fleet',
    'type',
    'action',
  ]),
  hookErrors: counter('hook_errors_total', 'Task hooks that could not be evaluated.', ['fleet', 'type']),
  hookSeconds: histogram(
    'hook_seconds',
    'Seconds that the remote parts of a task hook took.',
    ['fleet', 'type'],
    [0.005, 0.025, 0.1, 0.5, 2, 10, 60, 120],
  ),
});

/** Agents may report any model name. Models beyond this number are counted as `other`. */
const modelsMax = 64;

type UsedAmount = {
  readonly tokens: number;
  readonly usd: number;
  readonly input: number;
  readonly output: number;
};

function createUsageMetrics({ counter, amount }: ReturnType<typeof createInstruments>) {
  const tokens = counter('tokens_total', 'Tokens that agents reported (input, output, written to a cache), by model.', [
    'fleet',
    'model',
  ]);
  const costUsd = amount('cost_usd_total', 'Dollars that agents reported, by model.', ['fleet', 'model']);
  // From the GenAI conventions of OpenTelemetry, which other tools can draw.
  const sent = openTelemetry.getMeter('stopgate').createHistogram('gen_ai.client.token.usage', {
    description: 'Tokens per usage report.',
    unit: '{token}',
  });
  const models = new Set<string>();
  const labelOf = (model = 'unknown'): string => {
    if (!models.has(model) && models.size >= modelsMax) return 'other';
    models.add(model);
    return model;
  };
  return {
    /** Counted by the one replica that handles the report, at the head of the log. */
    used(fleet: string, model: string | undefined, used: UsedAmount): void {
      const labels = { fleet, model: labelOf(model) };
      tokens.inc(labels, used.tokens);
      costUsd.add(labels, used.usd);
      const about = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': labels.model };
      for (const type of ['input', 'output'] as const)
        if (used[type] > 0) sent.record(used[type], { 'gen_ai.token.type': type, ...about });
    },
  };
}

function createFleetGauges({ gauge }: ReturnType<typeof createInstruments>) {
  let fleets: () => readonly FleetGauges[] = () => [];
  return {
    /** Sets the source of the values. */
    followFleets(states: () => readonly FleetGauges[]): void {
      fleets = states;
    },
    ofFleet: (name: string, help: string, read: (fleet: FleetGauges) => number) =>
      gauge(name, help, ['fleet'], (own) => {
        own.reset(); // drop fleets that are no longer served
        for (const fleet of fleets()) own.set({ fleet: fleet.name }, read(fleet));
      }),
  };
}

/**
 * One series of a metric that changes with each entry. Looking it up in the registry by labels each time would be slow,
 * so it is counted here and flushed when the metric is read.
 */
type Series = { readonly labels: Record<string, string>; count: number; readonly values: number[] };

/** A histogram is flushed after this many values even if nobody reads it. */
const valuesKeptMax = 512;

function createSeries(flush: (series: Series) => void) {
  const all = new Map<string, Series>();
  return {
    flush() {
      for (const series of all.values()) flush(series);
    },
    of(labels: Record<string, string>): Series {
      const key = JSON.stringify(labels);
      const series = all.get(key) ?? { labels, count: 0, values: [] };
      all.set(key, series);
      return series;
    },
  };
}

/** Creates metrics for both Prometheus and OpenTelemetry, whose API reads the values of the registry. */
function createInstruments(registry: Registry) {
  const meter = openTelemetry.getMeter('stopgate');
  const observe = (metric: Counter | Gauge) => async (result: ObservableResult) => {
    for (const { value, labels } of (await metric.get()).values) result.observe(value, labels);
  };
  const optionsOf = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) => ({
    name: `${prefix}${name}`,
    help,
    labelNames,
    registers: [registry],
  });
  return {
    counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]) {
      const series = createSeries((counted) => {
        metric.inc(counted.labels, counted.count);
        counted.count = 0;
      });
      const metric: Counter = new Counter({ ...optionsOf(name, help, labelNames), collect: series.flush });
      meter.createObservableCounter(`${prefix}${name}`, { description: help }).addCallback(observe(metric));
      return {
        inc: (labels: Record<Label, string>, by?: number) => metric.inc(labels, by),
        /** @returns a function that adds 1 */
        one(labels: Record<Label, string>): () => void {
          const own = series.of(labels);
          return () => {
            own.count += 1;
          };
        },
      };
    },
    /** A counter of decimal amounts. Adds whole billionths, because sums of fractions are not exact. */
    amount<Label extends string>(name: string, help: string, labelNames: readonly Label[]) {
      const series = createSeries(({ labels, count }) => metric.inc(labels, count / 1e9));
      const collect = () => {
        metric.reset();
        series.flush();
      };
      const metric: Counter = new Counter({ ...optionsOf(name, help, labelNames), collect });
      meter.createObservableCounter(`${prefix}${name}`, { description: help }).addCallback(observe(metric));
      return {
        add(labels: Record<Label, string>, by: number): void {
          series.of(labels).count += Math.round(by * 1e9);
        },
      };
    },
    /** @param read sets the value at each scrape */
    gauge<Label extends string>(
      name: string,
      help: string,
      labelNames: readonly Label[] = [],
      read?: (own: Gauge<Label>) => void,
    ) {
      const collect = read && { collect: (): void => read(metric) };
      const metric: Gauge<Label> = new Gauge({ ...optionsOf(name, help, labelNames), ...collect });
      meter.createObservableGauge(`${prefix}${name}`, { description: help }).addCallback(observe(metric));
      return metric;
    },
    /** OpenTelemetry histograms cannot be read on demand, so each value is recorded in both. */
    histogram<Label extends string>(name: string, help: string, labelNames: readonly Label[], buckets: number[]) {
      const flush = ({ labels, values }: Series) => {
        for (const value of values.splice(0)) metric.observe(labels, value);
      };
      const series = createSeries(flush);
      const metric: Histogram = new Histogram({
        ...optionsOf(name, help, labelNames),
        buckets,
        collect: series.flush,
      });
      const advice = { explicitBucketBoundaries: buckets };
      const sent = meter.createHistogram(`${prefix}${name}`, { description: help, advice });
      return {
        /** @returns a function that observes a value */
        of(labels: Record<Label, string>): (value: number) => void {
          const own = series.of(labels);
          return (value) => {
            own.values.push(value);
            if (own.values.length >= valuesKeptMax) flush(own);
            sent.record(value, labels);
          };
        },
      };
    },
  };
}
