/** The accounts of a NATS server for the roles of protocol.md §13: who is in which, and what passes between them. Pure. */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { Logger } from '../log.ts';
import { isTestedServer } from './cluster-version.ts';
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

// What agents may use of a NATS server, in the form of its configuration. Each limit is far above what an agent needs.

/** Limits for each connection, except `max_connections`. */
const connectionLimits = {
  /** The log takes no more: a larger message is refused before it is sent. */
  max_payload: messageBytesMax,
  /** Inboxes, decisions and dead letters. Each costs the server memory and every publish in the account time. */
  max_subscriptions: 256,
};

/**
 * All agents of a server: each connection costs it a file descriptor, about 50 KB, and `max_pending` if it does not read. 512
 * are more than a hundred agents, each with a hook, a client and an MCP server.
 */
export const agentsLimits = { ...connectionLimits, max_connections: 512 };
/** Connections of an agent that is one worker: its hook, client and MCP server, twice while they reconnect. */
const oneAgentLimits = { ...connectionLimits, max_connections: 32 };

/** Limits of the whole server, for every connection alike: NATS has no such limits of a user or an account. */
export const serverLimits = {
  /**
   * This much may wait for a connection that does not read; then it is closed. It is eight windows of a log reader
   * (log-window.ts), and a few hundred of the largest requests that come while the service collects garbage. The stream
   * backup of the nats tool has 8 MiB on its way, of which the sockets' buffers hold a part.
   */
  max_pending: 8 * 1_024 * 1_024,
  /**
   * One write to a connection may take this long: then it is closed. Garbage collection of a full service takes less.
   */
  write_deadline: '5s',
  /** Agents (`max_connections` of their account), services, runners, operators. */
  max_connections: 1_024,
};

/** Their own streams are a convenience, and must leave the disk to the log. In bytes. */
export const agentsJetStream = {
  max_file: 256 * 1_024 * 1_024,
  max_mem: 32 * 1_024 * 1_024,
  max_streams: 16,
  max_consumers: 64,
};

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
        jetstream: streams,
        limits: agentsLimits,
        users: anyWorker.map(userOf),
        imports,
        mappings,
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

/**
 * A limit of the account on what its streams may store. nats-server 2.9 stores an entry beyond it, refuses it and
 * removes it. Each leaves a gap in the log, and a log with a gap has lost something (`log-continuity.ts`).
 */
export const accountLimit = {
  text: 'this NATS account has a limit on storage (max_file of its JetStream), and past it this nats-server leaves holes in the log, which is then LOG_LOST',
  fix: "remove the limit and set the server's max_file_store, or update to 2.15",
} as const;

/** @param version as the server announces it, such as `2.15.2` */
export async function warnOfAccountLimit(manager: JetStreamManager, version: string, log: Logger): Promise<void> {
  const limit = await findLimit(manager, version).catch(() => null);
  if (limit !== null) log.warn({ ...limit, version }, `${accountLimit.text}: ${accountLimit.fix}`);
}

const askMs = 2_000;

/** Tells whether the account has a limit that leaves holes. Null: it cannot be asked from here. Never rejects. */
export async function askAccountLimit(options: Pick<ConnectionOptions, 'url' | 'credsFile'>): Promise<boolean | null> {
  const nc = await openConnection({ ...options, name: 'stopgate doctor', patient: false }).catch(() => null);
  if (nc === null) return null;
  try {
    const manager = await jetstreamManager(nc, { timeout: askMs, checkAPI: false });
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
