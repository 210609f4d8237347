/** The accounts of a NATS server for the roles of protocol.md §13: who is in which, and what passes between them. Pure. */
import { agentsJetStream, agentsLimits, oneAgentLimits } from './agent-limits.ts';
import {
  agentSubjects,
  type Permissions,
  permissionsFor,
  type Role,
  type Scope,
  sharedSubjects,
} from './permissions.ts';

/** Accounts in the form of a NATS configuration. */
export type AccountUser = { readonly user: string; readonly password: string; readonly permissions: Permissions };
export type Account = {
  readonly jetstream?: 'enabled' | typeof agentsJetStream;
  readonly limits?: typeof agentsLimits;
  readonly users?: readonly AccountUser[];
  readonly exports?: ReturnType<typeof sharedSubjects>['exports'];
  readonly imports?: ReturnType<typeof sharedSubjects>['imports'];
  readonly mappings?: Readonly<Record<string, string>>;
};
export type Accounts = Readonly<Record<string, Account>>;

/** The names of accounts are folders of the store: they must not change. */
const serviceAccount = 'STOPGATE';
const agentsAccount = 'AGENTS';

export type Member = Scope & { readonly role: Role; readonly user: string; readonly password: string };

/**
 * `streams`: what agents may have of their own.
 *
 * Agents that may act for any worker share an account, with streams of their own. An agent that may act for one worker
 * only has an account of its own, without streams: no other inbox, and nothing that a server writes for others, is
 * within its reach.
 */
export function accountsOf(fleet: string, members: readonly Member[], streams = agentsJetStream): Accounts {
  const everyFleet = members.some((it) => it.everyFleet);
  const shared = sharedSubjects(fleet, serviceAccount, everyFleet);
  const agents = members.filter(({ role }) => role === 'agent');
  const anyWorker = agents.filter(({ worker }) => worker === undefined);
  const others = members.filter(({ role }) => role !== 'agent');
  const { exports, imports, mappings } = shared;
  return {
    [serviceAccount]: {
      ...(others.length > 0 && { jetstream: 'enabled', users: others.map(userOf) }),
      exports,
    },
    ...(anyWorker.length > 0 && {
      [agentsAccount]: {
        ...{ jetstream: streams, limits: agentsLimits },
        ...{ users: anyWorker.map(userOf), imports, mappings },
      },
    }),
    ...Object.fromEntries(
      agents.flatMap((it) =>
        it.worker === undefined
          ? []
          : [
              [
                `AGENT_${it.worker}`,
                { limits: oneAgentLimits, users: [userOf(it)], imports: importsOf(fleet, it.worker) },
              ],
            ],
      ),
    ),
  };
}

/** For several fleets: the same users, and what they may do in each. */
export const mergeAccounts = (one: Accounts, other: Accounts): Accounts => merge(one, other) as Accounts;

function merge(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return mergeLists(one, other);
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one;
  const [left, right] = [one, other] as Record<string, unknown>[];
  const both = Object.entries(right ?? {}).map(([key, value]) => [
    key,
    left !== undefined && key in left ? merge(left[key], value) : value,
  ]);
  return { ...left, ...Object.fromEntries(both) };
}

/** Users are equal if their names are; everything else only if all of it is. */
function mergeLists(one: readonly unknown[], other: readonly unknown[]): unknown[] {
  const keyOf = (item: unknown) => (item as Partial<AccountUser>).user ?? JSON.stringify(item);
  const items = new Map(one.map((item) => [keyOf(item), item]));
  for (const item of other) items.set(keyOf(item), merge(items.get(keyOf(item)) ?? item, item));
  return [...items.values()];
}

const userOf = ({ role, user, password, ...scope }: Member): AccountUser => ({
  user,
  password,
  permissions: permissionsFor(role, scope),
});

/** `Stopgate-Reply` needs an inbox of the worker's own, as all answers to such inboxes come out of one account. */
function importsOf(fleet: string, worker: string): NonNullable<Account['imports']> {
  const account = serviceAccount;
  return [
    ...agentSubjects(worker, fleet).map((subject) => ({ service: { account, subject } })),
    { stream: { account, subject: `_INBOX.${worker}.>` } },
  ];
}
