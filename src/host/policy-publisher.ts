/**
 * Publishes the configuration's policies into the log. A `policy.set` entry goes in only when they differ from what
 * this replica appended last. The last one in the log is in force (protocol.md §9).
 */
import { policyMessageId } from '../../machines/index.ts';
import { type HostContext, isAtHead, isRunning } from './context.ts';
import { appendUntilStored } from './own-entries.ts';

/** Policies in the configuration's own form. */
export type PolicyForm = {
  readonly policies: Record<string, unknown>;
  readonly assign?: readonly unknown[] | undefined;
  readonly releaseAfter?: unknown;
  readonly forget?: unknown;
};

export type PolicyPublisher = {
  /** A `policy.set` was folded; `replica`: who appended it. */
  onStored(form: unknown, replica: string | undefined): void;
  /** The configuration has changed. Before the log's head is reached it is only noted. */
  set(form: PolicyForm): void;
  /** The log's head is reached. */
  open(): Promise<void>;
};

export function createPolicyPublisher(context: HostContext): PolicyPublisher {
  let wanted: PolicyForm | null = null;
  let inLog = canonical({ policies: {} });
  /** By this replica, under this name. */
  let ownLast: string | null = null;
  let lastBy: string | undefined;

  const append = async () => {
    if (wanted === null) return;
    const form = canonical(wanted);
    if (form === (ownLast ?? inLog)) {
      if (form !== inLog) warn();
      return;
    }
    if (lastBy !== undefined && lastBy !== context.replica && context.fleet.replicas.has(lastBy)) warn();
    ownLast = form;
    const appended = wanted;
    await appendUntilStored(context, {
      tail: `own.fleet.${context.fleet.name}.policy.set`,
      data: appended,
      messageId: policyMessageId(context.replica, context.newId()),
      // A configuration that has changed meanwhile is appended by its own call.
      isNeeded: () => isRunning(context) && wanted === appended,
    });
    context.logger.info({ policies: Object.keys(appended.policies) }, 'policies set');
  };
  const warn = () => {
    context.metrics.policyConflict();
    context.logger.warn(
      { setBy: lastBy ?? 'unknown' },
      "the log's policies are not those of this configuration: two services have different files",
    );
  };
  return {
    onStored(form, replica) {
      inLog = canonical(form as PolicyForm);
      lastBy = replica;
      if (replica === context.replica) ownLast = inLog;
      else if (isAtHead(context) && wanted !== null && canonical(wanted) !== inLog) warn();
    },
    set(form) {
      wanted = form;
      if (isAtHead(context)) void append();
    },
    open: append,
  };
}

/** Equal forms give equal texts, whatever the order of their keys. */
function canonical({ policies, assign, releaseAfter, forget }: PolicyForm): string {
  return JSON.stringify(
    { policies, assign: assign ?? [], releaseAfter: releaseAfter ?? null, forget },
    (_key, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );
}
