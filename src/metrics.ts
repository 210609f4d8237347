/**
 * The service's metrics, in a registry of their own. Each counter is counted by one room only, named here; gauges are
 * set when they are read. Imports nothing of ours, so that every room can count.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const prefix = 'stopgate_';

export type Metrics = ReturnType<typeof createMetrics>;

/** @param checksWaiting read when somebody looks */
export function createMetrics(checksWaiting: () => number = () => 0) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix });
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: `${prefix}${name}`, help, labelNames, registers: [registry] });
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `${prefix}${name}`, help, labelNames: ['fleet'], registers: [registry] });
  return {
    registry,
    /** Counted where a decision is emitted, so once per attempt. */
    decisions: counter('decisions_total', 'Decisions that this replica made.', ['fleet', 'decision', 'cause']),
    decisionSeconds: new Histogram({
      name: `${prefix}decision_seconds`,
      help: 'Seconds from an attempt to its decision, checks and holds included.',
      labelNames: ['fleet'],
      // A fold alone takes about a millisecond; checks take seconds, holds minutes.
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 1_800],
      registers: [registry],
    }),
    entriesFolded: counter('entries_folded_total', 'Entries of the log that this replica folded.', ['fleet']),
    deadLetters: counter('dead_letters_total', 'Malformed entries, by code.', ['fleet', 'code']),
    refused: counter('refused_total', 'Entries that made no sense when they came.', ['fleet']),
    hookAnswers: counter('hook_answers_total', 'Answers of hooks on tasks, by type; skip: none.', [
      'fleet',
      'type',
      'action',
    ]),
    hookErrors: counter('hook_errors_total', 'Task hooks that could not be evaluated.', ['fleet', 'type']),
    hookSeconds: new Histogram({
      name: `${prefix}hook_seconds`,
      help: 'Seconds that the remote parts of a hook took.',
      labelNames: ['fleet', 'type'],
      buckets: [0.005, 0.025, 0.1, 0.5, 2, 10, 60, 120],
      registers: [registry],
    }),
    policyConflicts: counter('policy_conflicts_total', 'Policies in force that are not those of our stopgate.yaml.', [
      'fleet',
    ]),
    /** Counted by the webhook. */
    webhooks: counter('webhooks_total', 'Webhooks of escalations: delivered, failed, and retried.', ['outcome']),
    webhooksWaiting: new Gauge({
      name: `${prefix}webhooks_waiting`,
      help: 'Webhooks that were not taken and wait for their next try.',
      registers: [registry],
    }),
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
    ready: gauge('ready', '1: the fleet is served; 0: it is not, and /readyz says why.'),
    workers: gauge('workers', 'Workers that this replica knows.'),
    openAttempts: gauge('open_attempts', 'Attempts without a decision yet.'),
    checksWaiting: new Gauge({
      name: `${prefix}checks_waiting`,
      help: 'Checks that wait for a free place of the runner in this service (concurrency).',
      registers: [registry],
      collect() {
        this.set(checksWaiting());
      },
    }),
    foldSeq: gauge('fold_seq', 'The last entry of the log that was folded.'),
    foldLag: gauge('fold_lag', 'Entries of the log that are not folded yet.'),
  };
}
