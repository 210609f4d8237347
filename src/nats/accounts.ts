/** NATS accounts for the roles of protocol.md §13, with their users, limits, exports and imports. */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { Logger } from '../log.ts';
import { type ConnectionOptions, openConnection } from './connection.ts';
import { messageBytesMax } from './log/stream-info.ts';
import {
  agentSubjects,
  type Permissions,
  permissionsFor,
  type Role,
  type Scope,
  sharedSubjects,
} from './permissions.ts';
import { isTestedServer } from './server-version.ts';

// Limits in the form of a NATS configuration. Each is far above what an agent needs.

/** Per connection. */
const connectionLimits = {
  /** Equals the log's `max_msg_size`, so clients refuse a larger message before sending it. */
  max_payload: messageBytesMax,
  /** Inboxes, decisions and dead letters. Each subscription costs memory, and time at every publish in the account. */
  max_subscriptions: 256,
};

/**
 * For all agents of a server. A connection costs a file descriptor, about 50 KB, and up to `max_pending` if it does not
 * read. 512 connections suffice for more than a hundred agents, each with a hook, a client and an MCP server.
 */
export const agentsLimits = { ...connectionLimits, max_connections: 512 };
/** For an agent bound to one worker: its hook, client and MCP server, twice while they reconnect. */
const oneAgentLimits = { ...connectionLimits, max_connections: 32 };

/** Limits of the whole server. NATS cannot set these per user or account. */
export const serverLimits = {
  /**
   * Buffered bytes after which a slow consumer's connection is closed. Fits eight windows of a log reader
   * (log-window.ts), or a few hundred of the largest requests that arrive while the service collects garbage. A stream
   * backup of the nats tool has 8 MiB in flight, part of it in socket buffers.
   */
  max_pending: 8 * 1_024 * 1_024,
  /** A connection is closed if one write takes longer. Garbage collection of a full service takes less. */
  write_deadline: '5s',
  /** Agents (at most `max_connections` of their account), services, runners and operators. */
  max_connections: 1_024,
};

/** For streams created by agents. They must leave the disk to the log. Sizes in bytes. */
export const agentsJetStream = {
  max_file: 256 * 1_024 * 1_024,
  max_mem: 32 * 1_024 * 1_024,
  max_streams: 16,
  max_consumers: 64,
};

// Accounts in the form of a NATS configuration.

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

/** Account names are folder names in the store, so they must not change. */
const serviceAccount = 'STOPGATE';
const agentsAccount = 'AGENTS';

export type Member = Scope & { readonly role: Role; readonly user: string; readonly password: string };

/**
 * Returns the accounts for the members of a fleet. Agents that may act for any worker share one account, with
 * JetStream. An agent bound to one worker gets its own account without JetStream, so it can reach neither the inboxes
 * of others nor subjects that the server publishes to on behalf of others.
 * @param streams limits of the agents' JetStream
 */
export function accountsOf(fleet: string, members: readonly Member[], streams = agentsJetStream): Accounts {
  const everyFleet = members.some((member) => member.everyFleet);
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
        jetstream: streams,
        limits: agentsLimits,
        users: anyWorker.map(userOf),
        imports,
        mappings,
      },
    }),
    ...Object.fromEntries(
      agents.flatMap((agent) =>
        agent.worker === undefined
          ? []
          : [
              [
                `AGENT_${agent.worker}`,
                { limits: oneAgentLimits, users: [userOf(agent)], imports: importsOf(fleet, agent.worker) },
              ],
            ],
      ),
    ),
  };
}

/** Merges the accounts of several fleets: the same users with the union of their permissions. */
export const mergeAccounts = (one: Accounts, other: Accounts): Accounts => merge(one, other) as Accounts;

function merge(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return mergeLists(one, other);
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one;
  const merged = { ...(one as Record<string, unknown>) };
  for (const [key, value] of Object.entries(other)) merged[key] = key in merged ? merge(merged[key], value) : value;
  return merged;
}

/** Merges users with the same name, and removes duplicates of everything else. */
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

/** Replies come from the service's account, so `Stopgate-Reply` needs an inbox that is named after the worker. */
function importsOf(fleet: string, worker: string): NonNullable<Account['imports']> {
  const account = serviceAccount;
  return [
    ...agentSubjects(worker, fleet).map((subject) => ({ service: { account, subject } })),
    { stream: { account, subject: `_INBOX.${worker}.>` } },
  ];
}

/**
 * Warning about a storage limit of the account. nats-server 2.9 first stores an entry beyond the limit, then refuses
 * and removes it, which leaves a gap in the log. A gap counts as a lost entry (`log-continuity.ts`).
 */
export const accountLimit = {
  text: 'this NATS account has a storage limit (max_file of its JetStream); beyond it this nats-server leaves gaps in the log, which count as LOG_LOST',
  fix: "remove the limit and set the server's max_file_store, or update to 2.15",
} as const;

/** @param version as the server announces it, such as `2.15.2` */
export async function warnOfAccountLimit(manager: JetStreamManager, version: string, log: Logger): Promise<void> {
  const limit = await findLimit(manager, version).catch(() => null);
  if (limit !== null) log.warn({ ...limit, version }, `${accountLimit.text}: ${accountLimit.fix}`);
}

const accountInfoTimeoutMs = 2_000;

/**
 * Tells whether the account has a storage limit that leaves gaps; null if that is unknown.
 * @throws AppError if the server cannot be reached
 */
export async function askAccountLimit(options: Pick<ConnectionOptions, 'url' | 'credsFile'>): Promise<boolean | null> {
  const nc = await openConnection({ ...options, name: 'stopgate doctor', patient: false });
  try {
    const manager = await jetstreamManager(nc, { timeout: accountInfoTimeoutMs, checkAPI: false });
    return (await findLimit(manager, nc.info?.version ?? 'unknown')) !== null;
  } catch {
    return null;
  } finally {
    await nc.close();
  }
}

async function findLimit(manager: JetStreamManager, version: string) {
  if (isTestedServer(version)) return null;
  const { limits, storage: bytes } = await manager.getAccountInfo();
  const bytesMax = limits?.max_storage ?? -1;
  return bytesMax < 0 ? null : { bytesMax, bytes };
}
