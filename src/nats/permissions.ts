/**
 * Publish and subscribe permissions of each role (protocol.md §13). The embedded server's configuration is generated
 * from them, and `stopgate permissions` prints them for other servers.
 *
 * Subject permissions alone do not protect the log, because the server publishes on behalf of clients without checking
 * permissions: it sends the acknowledgement of a publish to any reply subject (`worker.w2.session.ended`, or the API
 * that purges a stream), and a stream's `republish` or a push consumer's deliver subject can name subjects that their
 * creator may not publish to. So agents have their own account with their own streams, and reach the service's account
 * only through the subjects of `sharedSubjects`. Between accounts, the server replaces reply subjects with its own.
 */

export const roles = ['agent', 'service', 'operator', 'runner', 'check'] as const;
export type Role = (typeof roles)[number];

/**
 * Permissions in the form of a NATS configuration: without `allow` everything is allowed, and `deny` overrides `allow`.
 */
type SubjectRule = { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
export type Permissions = { readonly publish: SubjectRule; readonly subscribe: SubjectRule };

export type Scope = {
  readonly fleet: string;
  /**
   * For the embedded server, whose fleets all belong to one user. Permissions on streams still concern only `fleet`.
   */
  readonly everyFleet?: boolean | undefined;
  /** For agents: the only worker to act for. Default: any worker. */
  readonly worker?: string | undefined;
  /** For runners: the name to serve. Default: any name. */
  readonly name?: string | undefined;
  /** For check servers: the checks to serve. Default: any check. For a named runner: checks to serve as well. */
  readonly checks?: readonly string[] | undefined;
};

const entryNouns = ['worker', 'task', 'queue'];
/** Requests to the service. */
const serviceVerbs = ['decide', 'probe', 'verify', 'verify-task', 'claim-next', 'evaluate', 'get', 'list'];
/** Requests to runners and check servers. */
const workspaceVerbs = ['check', 'run'];
/** Requests that may take as long as a hold or a check. The others are answered at once. */
const slowVerbs = ['decide', 'probe', 'verify', 'verify-task', 'evaluate', ...workspaceVerbs];

/**
 * Inbox prefix for connections of the service and of operators. Agents may subscribe to `_INBOX.>` because of the
 * header `Stopgate-Reply`, so they could read replies there, or have a decision sent there in place of a reply.
 */
export const privateInboxPrefix = '_STOPGATE_INBOX';
/** Reply subjects: client inboxes, and the subjects that replace them between accounts. */
const replies = ['_INBOX.>', '_R_.>', `${privateInboxPrefix}.>`];
/** The service publishes these for everyone. */
const publicNouns = ['decision', 'dead'];
/** `fleet` is `*` for all fleets. */
const inFleet = (fleet: string, tokens: readonly string[]) => tokens.map((token) => `stopgate.${fleet}.${token}.>`);
const logStreams = (fleet: string): readonly string[] => [`STOPGATE_${fleet}`, `STOPGATE-DEAD_${fleet}`];
const snapshotStreams = (fleet: string) => ['SNAPSHOTS', 'PAST'].map((store) => `OBJ_STOPGATE-${store}_${fleet}`);

export function permissionsFor(role: Role, scope: Scope): Permissions {
  const fleets = scope.everyFleet ? '*' : scope.fleet;
  switch (role) {
    case 'agent':
      return scope.worker === undefined ? anyAgent(scope.fleet, fleets) : agentOf(scope.worker, scope.fleet);
    case 'service':
      return { publish: { allow: ['>'] }, subscribe: { allow: ['>'] } };
    case 'operator':
      return operator(scope.fleet, fleets);
    case 'runner':
      return server(
        scope.name === undefined
          ? inFleet(fleets, workspaceVerbs)
          : [`run.${scope.name}`, ...(scope.checks ?? []).map((check) => `check.${check}`)].map(within(scope.fleet)),
      );
    case 'check':
      return server(
        scope.checks === undefined
          ? inFleet(fleets, ['check'])
          : scope.checks.map((check) => within(scope.fleet)(`check.${check}`)),
      );
  }
}

const within = (fleet: string) => (tail: string) => `stopgate.${fleet}.${tail}`;

/**
 * For a client without credentials. Its account already keeps it away from every log; denying JetStream calls only
 * turns that into a clear error. Wildcards cannot match part of a token, so only this fleet's stream names can be
 * denied.
 *
 * Subscriptions are an allow list, because a denied subject could still be matched by an overlapping wildcard
 * (`*.*.*.*`). In the service's queue group, such a subscription would receive other agents' requests.
 */
const anyAgent = (fleet: string, fleets: string): Permissions => ({
  publish: {
    deny: [
      ...inFleet(fleets, ['own', 'decision', 'dead']),
      ...[...logStreams(fleet), ...snapshotStreams(fleet)].flatMap(apiThatChanges),
    ],
  },
  subscribe: { allow: ['_INBOX.>', ...inFleet(fleets, publicNouns)] },
});

/** Subjects to which an agent bound to one worker may publish. */
export function agentSubjects(worker: string, fleet: string): readonly string[] {
  const requests = ['decide', 'probe', 'verify', 'claim-next', 'get.worker'].map((noun) => `${noun}.${worker}`);
  return [`worker.${worker}.>`, ...requests, 'task.>', 'queue.>', 'evaluate.>', 'verify-task.>', 'get.task.>'].map(
    within(fleet),
  );
}

const agentOf = (worker: string, fleet: string): Permissions => ({
  publish: { allow: agentSubjects(worker, fleet) },
  subscribe: { allow: ['_INBOX.>'] },
});

/**
 * May read the log through consumers, but not create streams: in the service's account, a stream's `republish` could
 * forge `own` entries. An operator of one fleet reaches only the streams of that fleet.
 */
function operator(fleet: string, fleets: string): Permissions {
  const reading =
    fleets === '*'
      ? ['STREAM.INFO.>', 'STREAM.MSG.GET.>', 'DIRECT.GET.>', 'CONSUMER.>']
      : [...logStreams(fleet), ...snapshotStreams(fleet)].flatMap((stream) => [
          ...['STREAM.INFO', 'STREAM.MSG.GET', 'DIRECT.GET'].map((call) => `${call}.${stream}`),
          `DIRECT.GET.${stream}.>`,
          ...consumerCalls(stream),
        ]);
  return {
    publish: {
      allow: [
        ...inFleet(fleets, [...entryNouns, ...serviceVerbs, ...workspaceVerbs, 'snapshot']),
        ...[
          'worker.*.escalation.*',
          'worker.*.input.answered',
          'task.*.escalation.*',
          'queue.*.escalation.*',
          'worker.*.worker.retired',
          'worker.*.worker.paused',
          'worker.*.worker.unpaused',
        ].map((tail) => `stopgate.${fleets}.own.${tail}`),
        ...['INFO', 'STREAM.LIST', 'STREAM.NAMES', ...reading].map((call) => `$JS.API.${call}`),
        '$JS.ACK.>',
        '$JS.FC.>',
        '$SRV.>',
      ],
    },
    subscribe: {
      allow: fleets === '*' ? ['>'] : [`stopgate.${fleet}.>`, '_INBOX.>', `${privateInboxPrefix}.>`],
    },
  };
}

/** May answer requests, also as a NATS micro service, but not send any. */
function server(subjects: readonly string[]): Permissions {
  return { publish: { allow: replies }, subscribe: { allow: [...subjects, '$SRV.>'] } };
}

/**
 * All API calls that change a stream or touch its consumers. The others (`STREAM.INFO`, `STREAM.MSG.GET`, …) only read.
 */
function apiThatChanges(stream: string): string[] {
  const calls = [
    'CREATE',
    'UPDATE',
    'DELETE',
    'PURGE',
    'SNAPSHOT',
    'RESTORE',
    'MSG.DELETE',
    'PEER.REMOVE',
    'LEADER.STEPDOWN',
  ];
  return [
    ...calls.map((call) => `$JS.API.STREAM.${call}.${stream}`),
    ...consumerCalls(stream).map((call) => `$JS.API.${call}`),
  ];
}

const consumerCalls = (stream: string): string[] => [
  `CONSUMER.*.${stream}`, // CREATE, LIST, NAMES
  `CONSUMER.*.${stream}.>`, // CREATE, INFO, DELETE, PAUSE, ...
  `CONSUMER.*.*.${stream}.>`, // DURABLE.CREATE, MSG.NEXT, LEADER.STEPDOWN
];

type Service = { readonly account: string; readonly subject: string };
/** In the form of a NATS configuration. */
type SharedSubjects = {
  /** The exports of the service's account. */
  readonly exports: readonly (
    | { readonly service: string; readonly response_type?: 'stream'; readonly threshold?: string }
    | { readonly stream: string }
  )[];
  /** The imports of the agents' account. */
  readonly imports: readonly ({ readonly service: Service; readonly to?: string } | { readonly stream: Service })[];
  /** The mappings of the agents' account. */
  readonly mappings: Readonly<Record<string, string>>;
};

/**
 * Prefix of read-only log calls in the agents' account. Under `$JS.API`, the account's own JetStream would reply too.
 */
const logApi = '$STOPGATE.API';
/** How long the server maps replies between accounts. Its default is 2 minutes, but a hold may last overnight. */
const replyAwaited = '24h';

/**
 * Exports and imports between the agents' account and the service's `account`. Entries and requests go to the service;
 * decisions, dead letters and replies to `Stopgate-Reply` inboxes come back. Agents read the log only by `STREAM.INFO`
 * and `STREAM.MSG.GET`, because a consumer could deliver log messages to any subject of the service's account.
 *
 * Known gap: agents without credentials share an account, so one can deceive another. A stream on
 * `stopgate.<fleet>.decide.>` acknowledges the other's requests, and a `republish` can forge decisions for subscribers
 * in that account. Neither affects the log, the service, operators or runners.
 */
export function sharedSubjects(fleet: string, account: string, everyFleet = false): SharedSubjects {
  const fleets = everyFleet ? '*' : fleet;
  const services = [
    ...inFleet(fleets, [...entryNouns, ...serviceVerbs, ...workspaceVerbs]).map((subject) => ({
      service: subject,
      ...(inFleet(fleets, slowVerbs).includes(subject) ? { threshold: replyAwaited } : {}),
    })),
    { service: '$SRV.>', response_type: 'stream' as const }, // every service replies
  ];
  const streams = [...inFleet(fleets, publicNouns), '_INBOX.>'];
  const calls = logStreams(fleet).flatMap((stream) => [`STREAM.INFO.${stream}`, `STREAM.MSG.GET.${stream}`]);
  return {
    exports: [
      ...services,
      ...calls.map((call) => ({ service: `$JS.API.${call}` })),
      ...streams.map((stream) => ({ stream })),
    ],
    imports: [
      ...services.map(({ service }) => ({ service: { account, subject: service } })),
      ...calls.map((call) => ({ service: { account, subject: `$JS.API.${call}` }, to: `${logApi}.${call}` })),
      ...streams.map((stream) => ({ stream: { account, subject: stream } })),
    ],
    mappings: Object.fromEntries(calls.map((call) => [`$JS.API.${call}`, `${logApi}.${call}`])),
  };
}
