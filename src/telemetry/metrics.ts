/**
 * The service's metrics, in a registry of their own and, by the OpenTelemetry API, wherever an SDK in this process sends
 * them: without one that costs nothing. Each counter is counted by one room only, named here; gauges are read when
 * they are scraped. Imports nothing of ours, so that every room can count.
 */
import { type ObservableResult, metrics as openTelemetry } from '@opentelemetry/api';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const prefix = 'stopgate_';

export type Metrics = ReturnType<typeof createMetrics>;

/** The values that the gauges of a fleet show. */
export type FleetGauges = {
  readonly name: string;
  /** It is null if the fleet is served. */
  readonly fault: unknown;
  readonly foldedSeq: number;
  readonly lag: number;
  readonly workers: number;
  readonly openAttempts: number;
  readonly neglected: number;
  /** The share of its room that is used, from 0 to 1 (protocol.md §2). */
  readonly stateShare: number;
};

/** The part of a bound that this process uses. */
type BoundUse = { readonly bound: string; readonly used: number; readonly max: number };

/** Bounds of the process: each is told by the room that holds it, and read when somebody looks. */
function createBounds() {
  const reads = new Map<string, () => Omit<BoundUse, 'bound'>>();
  return {
    add: (bound: string, max: number, used: () => number) => void reads.set(bound, () => ({ used: used(), max })),
    list: (): BoundUse[] => [...reads].map(([bound, read]) => ({ bound, ...read() })),
  };
}

/** `checksWaiting`: how many wait for a free place of the runner in this service. */
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
    /** Counted where a decision is emitted, so once per attempt. */
    decisions: counter('decisions_total', 'Decisions that this replica made.', ['fleet', 'decision', 'cause']),
    decisionSeconds: histogram(
      'decision_seconds',
      'Seconds from an attempt to its decision, checks and holds included.',
      ['fleet'],
      // A fold alone takes about a millisecond; checks take seconds, holds minutes.
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 1_800],
    ),
    entriesFolded: counter('entries_folded_total', 'Entries of the log that this replica folded.', ['fleet']),
    deadLetters: counter('dead_letters_total', 'Malformed entries, by code.', ['fleet', 'code']),
    refused: counter('refused_total', 'Entries that were not valid when they arrived.', ['fleet']),
    ...createHookMetrics(instruments),
    ...createUsageMetrics(instruments),
    ...createLimitMetrics(instruments),
    policyConflicts: counter('policy_conflicts_total', 'Policies in force that are not those of our stopgate.yaml.', [
      'fleet',
    ]),
    /** Counted by the webhook. */
    webhooks: counter('webhooks_total', 'Webhooks of escalations: delivered, failed, and retried.', ['outcome']),
    webhooksWaiting: gauge('webhooks_waiting', 'Webhooks that failed and wait for their next try.'),
    /** Counted at the edge that took the request: NATS, or HTTP under `/api`. */
    requests: counter(
      'requests_total',
      'Requests over NATS and /api, by verb and status; fleet none: not served here.',
      ['fleet', 'verb', 'status'],
    ),
    /** Counted by `http`, including hooks. */
    httpRequests: counter('http_requests_total', 'All HTTP requests that were answered.', [
      'method',
      'route',
      'status',
    ]),
    ready: ofFleet('ready', '1: the fleet is served; 0: it is not, and /readyz says why.', ({ fault }) =>
      fault === null ? 1 : 0,
    ),
    workers: ofFleet('workers', 'Workers that this replica knows.', ({ workers }) => workers),
    openAttempts: ofFleet('open_attempts', 'Attempts without a decision yet.', ({ openAttempts }) => openAttempts),
    neglected: ofFleet(
      'neglected',
      'Workers with a request that waits for too long, and queues that nobody attends.',
      ({ neglected }) => neglected,
    ),
    stateShare: ofFleet(
      'state_share',
      'How much the fleet keeps of its workers and tasks, as a share of what it may keep; at 1 it is full.',
      ({ stateShare }) => stateShare,
    ),
    checksWaiting: gauge(
      'checks_waiting',
      'Checks that wait for a free place of the runner in this service (concurrency).',
      [],
      (own) => own.set(checksWaiting()),
    ),
    foldSeq: ofFleet('fold_seq', 'The last entry of the log that was folded.', ({ foldedSeq }) => foldedSeq),
    foldLag: ofFleet('fold_lag', 'Entries in the log that are not folded yet.', ({ lag }) => lag),
  };
}

/** Counts what was refused, and what broke because somebody sends too much. */
const createLimitMetrics = ({ counter }: ReturnType<typeof createInstruments>) => ({
  /** Counted where the bound is: `http bodies`, `checks waiting`, those of admission, `received requests`. */
  bounded: counter('bounded_total', 'What was refused because a bound was reached, by bound.', ['bound']),
  /** Counted by `http`. */
  unread: counter(
    'unread_fields_total',
    'Fields of hook calls and telemetry that could not be read and were left out.',
    ['from', 'field'],
  ),
  /** Counted by the link to NATS. */
  connectionBreaks: counter('connection_breaks_total', 'Connections to NATS that broke and were made again.', [
    'connection',
  ]),
});

/** Counts and measures the hooks on tasks. */
const createHookMetrics = ({ counter, histogram }: ReturnType<typeof createInstruments>) => ({
  hookAnswers: counter('hook_answers_total', 'Answers of hooks on tasks, by type; skip: none.', [
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

/** Whoever may report may name any model: more than this many are counted as `other`. */
const modelsMax = 64;

type UsedAmount = {
  readonly tokens: number;
  readonly usd: number;
  readonly input: number;
  readonly output: number;
};

function createUsageMetrics({ counter }: ReturnType<typeof createInstruments>) {
  const tokens = counter(
    'tokens_total',
    'Tokens that agents reported (input, output, written to the cache), by model.',
    ['fleet', 'model'],
  );
  const costUsd = counter('cost_usd_total', 'Dollars that agents reported, by model.', ['fleet', 'model']);
  // The GenAI conventions of OpenTelemetry: what other tools know how to draw.
  const sent = openTelemetry.getMeter('stopgate').createHistogram('gen_ai.client.token.usage', {
    description: 'Tokens of each report of an agent.',
    unit: '{token}',
  });
  const models = new Set<string>();
  const labelOf = (model = 'unknown'): string => {
    if (!models.has(model) && models.size >= modelsMax) return 'other';
    models.add(model);
    return model;
  };
  return {
    /** Counted by the one replica that the report falls to, at the head of the log. */
    used(fleet: string, model: string | undefined, amount: UsedAmount): void {
      const labels = { fleet, model: labelOf(model) };
      tokens.inc(labels, amount.tokens);
      costUsd.inc(labels, amount.usd);
      const about = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': labels.model };
      for (const type of ['input', 'output'] as const)
        if (amount[type] > 0) sent.record(amount[type], { 'gen_ai.token.type': type, ...about });
    },
  };
}

function createFleetGauges({ gauge }: ReturnType<typeof createInstruments>) {
  let fleets: () => readonly FleetGauges[] = () => [];
  return {
    /** From now on the gauges are of these. */
    followFleets(states: () => readonly FleetGauges[]): void {
      fleets = states;
    },
    ofFleet: (name: string, help: string, read: (fleet: FleetGauges) => number) =>
      gauge(name, help, ['fleet'], (own) => {
        own.reset(); // a fleet that is no longer served leaves no last value behind
        for (const fleet of fleets()) own.set({ fleet: fleet.name }, read(fleet));
      }),
  };
}

/**
 * One series of a metric, for what comes with each entry: the registry would look it up by its labels each time. So what
 * is counted here is handed on when somebody reads the metric.
 */
type Series = { readonly labels: Record<string, string>; count: number; readonly values: number[] };

/** A histogram's values, before they are handed on although nobody reads it. */
const valuesKeptMax = 512;

function createSeries(handOn: (series: Series) => void) {
  const all = new Map<string, Series>();
  return {
    handOn() {
      for (const series of all.values()) handOn(series);
    },
    of(labels: Record<string, string>): Series {
      const key = JSON.stringify(labels);
      const series = all.get(key) ?? { labels, count: 0, values: [] };
      all.set(key, series);
      return series;
    },
  };
}

/** Makes metrics of one name for Prometheus and OpenTelemetry: the API reads what the registry has. */
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
      const series = createSeries((it) => {
        metric.inc(it.labels, it.count);
        it.count = 0;
      });
      const metric: Counter = new Counter({ ...optionsOf(name, help, labelNames), collect: series.handOn });
      meter.createObservableCounter(`${prefix}${name}`, { description: help }).addCallback(observe(metric));
      return {
        inc: (labels: Record<Label, string>, by?: number) => metric.inc(labels, by),
        /** @returns counts one more */
        one(labels: Record<Label, string>): () => void {
          const own = series.of(labels);
          return () => {
            own.count += 1;
          };
        },
      };
    },
    /** @param read sets it at each scrape */
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
    /** OpenTelemetry has no histogram that is read, so that each value is given to both. */
    histogram<Label extends string>(name: string, help: string, labelNames: readonly Label[], buckets: number[]) {
      const handOn = ({ labels, values }: Series) => {
        for (const value of values.splice(0)) metric.observe(labels, value);
      };
      const series = createSeries(handOn);
      const metric: Histogram = new Histogram({
        ...optionsOf(name, help, labelNames),
        buckets,
        collect: series.handOn,
      });
      const advice = { explicitBucketBoundaries: buckets };
      const sent = meter.createHistogram(`${prefix}${name}`, { description: help, advice });
      return {
        /** @returns observes one value */
        of(labels: Record<Label, string>): (value: number) => void {
          const own = series.of(labels);
          return (value) => {
            own.values.push(value);
            if (own.values.length >= valuesKeptMax) handOn(own);
            sent.record(value, labels);
          };
        },
      };
    },
  };
}
