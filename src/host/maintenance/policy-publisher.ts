/**
 * Publishes the configured policies to the log. Appends a `policy.set` entry only if they differ from the last ones
 * that this replica appended. The last `policy.set` in the log is in force (protocol.md §9).
 */

import { createHash } from 'node:crypto';
import { type Fleet, policyMessageId } from '../../../machines/index.ts';
import type { PolicyForm } from '../../config/file.ts';
import type { Logger } from '../../log.ts';
import { setNewest } from '../../set-newest.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { OwnEntries } from '../own-entries.ts';

export type PolicyPublisher = {
  /** Called when a `policy.set` is folded. `replica` is the one that appended it. */
  onStored(form: unknown, replica: string | undefined): void;
  /** Sets the configured policies. They are appended at the log's head. */
  set(form: PolicyForm): void;
  /** Called each time the log's head is reached. */
  open(): Promise<void>;
  /** Returns the known state of the log's policies, for a snapshot. */
  capture(): PublishedPolicies;
  restore(published: PublishedPolicies): void;
};

/** Policies as digests. `lastOf` has the last policies that each replica appended. */
export type PublishedPolicies = {
  readonly inLog: string;
  readonly lastBy: string | null;
  readonly lastOf: readonly (readonly [replica: string, form: string])[];
};

/** Replicas with generated names come and go, so only the last ones that appended are remembered. */
const replicasMax = 100;

export type PolicyPublisherOptions = {
  readonly fleet: Pick<Fleet, 'name' | 'replicas'>;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead' | 'isRunning'>;
  readonly entries: Pick<OwnEntries, 'untilStored'>;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly metrics: { policyConflict(): void };
};

export function createPolicyPublisher(options: PolicyPublisherOptions): PolicyPublisher {
  let wanted: PolicyForm | null = null;
  let inLog = canonical({ policies: {} });
  /** The last policies appended by each replica, by its name. The newest is last. */
  const lastOf = new Map<string, string>();
  let lastBy: string | undefined;
  const noteLast = (replica: string, form: string) => setNewest(lastOf, replica, form, replicasMax);
  /** The policies that `append` has handled last: appended, or found in the log. */
  let offered: string | null = null;
  /** The policies that were sent to the log and have not come back. Not in `lastOf`, because snapshots keep that. */
  let sent: string | null = null;

  const append = async () => {
    if (wanted === null) return;
    const form = canonical(wanted);
    if (form === offered) return;
    offered = form;
    if (form === (sent ?? lastOf.get(options.replica) ?? inLog)) {
      if (form !== inLog) warn();
      return;
    }
    if (lastBy !== undefined && lastBy !== options.replica && options.fleet.replicas.has(lastBy)) warn();
    sent = form;
    const appended = wanted;
    const stored = await options.entries.untilStored({
      tail: `own.fleet.${options.fleet.name}.policy.set`,
      data: appended,
      messageId: policyMessageId(options.replica, options.newId()),
      // If the configuration changes in the meantime, a later call appends it.
      isNeeded: () => options.lifecycle.isRunning() && offered === form,
    });
    if (stored !== null) options.logger.info({ policies: Object.keys(appended.policies) }, 'policies set');
  };
  const warn = () => {
    options.metrics.policyConflict();
    options.logger.warn(
      { setBy: lastBy ?? 'unknown' },
      "the log's policies differ from this configuration: two services use different configuration files",
    );
  };
  return {
    onStored(form, replica) {
      inLog = canonical(form as PolicyForm);
      lastBy = replica;
      if (replica !== undefined) noteLast(replica, inLog);
      if (replica === options.replica) {
        if (sent === inLog) sent = null;
        return;
      }
      if (options.lifecycle.isAtHead() && wanted !== null && canonical(wanted) !== inLog) warn();
    },
    set(form) {
      wanted = form;
      if (options.lifecycle.isAtHead()) void append();
    },
    open: append,
    capture: () => ({ inLog, lastBy: lastBy ?? null, lastOf: [...lastOf] }),
    restore(published) {
      inLog = published.inLog;
      lastBy = published.lastBy ?? undefined;
      for (const [replica, form] of published.lastOf) noteLast(replica, form);
    },
  };
}

/** Returns a digest that does not depend on the order of keys. */
function canonical({ policies, assign, budget, releaseAfter, forget, escalation }: PolicyForm): string {
  const text = JSON.stringify(
    { policies, assign: assign ?? [], budget: budget ?? null, releaseAfter: releaseAfter ?? null, forget, escalation },
    (_key, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );
  return createHash('sha256').update(text).digest('hex');
}
