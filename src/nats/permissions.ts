/**
 * Who may publish and subscribe to what on a NATS server (protocol.md §13), as data: the configuration of the embedded
 * server is made from it, and `stopgate permissions` prints it for your own server. Pure.
 *
 * Subject permissions alone do not protect the log, because the server also publishes on behalf of clients without
 * checking their permissions: it sends the acknowledgement of a publish to any reply subject
 * (`worker.w2.session.ended`, or the API that purges a stream), and the `republish` of a stream or the deliver subject
 * of a push consumer writes where its creator may not. So agents have their own account, with their own streams, and
 * reach the service's account through the few subjects of `sharedSubjects`. Between the accounts, the server replaces
 * their reply subjects with its own.
 */

export const roles = ['agent', 'service', 'operator', 'runner', 'check'] as const;
export type Role = (typeof roles)[number];

/** As in a NATS configuration: without `allow` everything is allowed, and `deny` wins over `allow`. */
export type SubjectRule = { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
export type Permissions = { readonly publish: SubjectRule; readonly subscribe: SubjectRule };

export type Scope = {
  readonly fleet: string;
  /** The embedded server's: all its fleets belong to one user, and more may be added. Streams are still those of `fleet`. */
  readonly everyFleet?: boolean | undefined;
  /** Agent: the only worker it may act for. Default: any worker. */
  readonly worker?: string | undefined;
  /** Runner: its name. Default: any runner. */
  readonly name?: string | undefined;
  /** Check server: the checks it serves; default: any. Runner with a name: those it serves too. */
  readonly checks?: readonly string[] | undefined;
};

const entryNouns = ['worker', 'task', 'queue'];
/** Requests to the service. */
const serviceVerbs = ['decide', 'probe', 'verify', 'verify-task', 'claim-next', 'evaluate', 'get', 'list'];
/** Requests to runners and check servers. */
const workspaceVerbs = ['check', 'run'];
/** They take as long as a hold or a check; the others answer at once. */
const slowVerbs = ['decide', 'probe', 'verify', 'verify-task', 'evaluate', ...workspaceVerbs];

/**
 * The inbox prefix for connections of the service and the operator. Agents may subscribe to `_INBOX.>`, for the header
 * `Stopgate-Reply`, so they could read what arrives there, and a decision could be sent there in place of a reply.
 */
export const privateInbox = '_STOPGATE_INBOX';
/** Replies go to a client's inbox, or to what the server puts in its place between accounts. */
const replies = ['_INBOX.>', '_R_.>', `${privateInbox}.>`];
/** The service publishes these for everybody. */
const heardByAgents = ['decision', 'dead'];
/** `fleet`: `*` for every one. */
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
 * A client without credentials. A wildcard cannot match part of a token, so only the stream names of this fleet can be
 * denied. Those of other fleets are out of reach by the account; the denial only makes that a clear error.
 *
 * What it subscribes to is a list of what it may hear: a denied subject still lets through every wildcard that overlaps
 * it (`*.*.*.*`), and in the queue group of the service such a subscription would answer other agents' requests.
 */
const anyAgent = (fleet: string, fleets: string): Permissions => ({
  publish: {
    deny: [
      ...inFleet(fleets, ['own', 'decision', 'dead']),
      ...[...logStreams(fleet), ...snapshotStreams(fleet)].flatMap(apiThatChanges),
    ],
  },
  subscribe: { allow: ['_INBOX.>', ...inFleet(fleets, heardByAgents)] },
});

/** Lists what an agent that acts for one worker only may publish. */
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
 * Reads the log through consumers, but creates no streams: in the service's account the `republish` of a stream could
 * write every own entry. Of one fleet, it reaches the log, its snapshots and the dead letters of that one only.
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
      allow: fleets === '*' ? ['>'] : [`stopgate.${fleet}.>`, '_INBOX.>', `${privateInbox}.>`],
    },
  };
}

/** Answers requests, also as a NATS micro service, and sends none. */
function server(subjects: readonly string[]): Permissions {
  return { publish: { allow: replies }, subscribe: { allow: [...subjects, '$SRV.>'] } };
}

/** All calls that change a stream or touch its consumers. The others read: `STREAM.INFO`, `STREAM.MSG.GET`, `DIRECT.GET`. */
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
export type SharedSubjects = {
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

/** The read-only calls on the log, in the agents' account. Under `$JS.API` its own JetStream would answer too. */
const logApi = '$STOPGATE.API';
/** By default a server forgets after 2 minutes where a reply belongs, and a hold may last a night. */
const replyAwaited = '24h';

/**
 * Lists what the agents' account shares with the service's `account`: entries and requests go there; decisions, dead
 * letters and answers to the header `Stopgate-Reply` come back. The log is read by `STREAM.INFO` and `STREAM.MSG.GET`
 * only, since a consumer could be made to deliver the log's messages on any subject of the service's account.
 *
 * What no permission prevents: agents without credentials share an account, so one of them can fool another. A stream
 * of its own on `stopgate.<fleet>.decide.>` acknowledges its requests, and a `republish` can forge a decision for its subscribers.
 * That reaches neither the log nor the service, operators and runners.
 */
export function sharedSubjects(fleet: string, account: string, everyFleet = false): SharedSubjects {
  const fleets = everyFleet ? '*' : fleet;
  const services = [
    ...inFleet(fleets, [...entryNouns, ...serviceVerbs, ...workspaceVerbs]).map((subject) => ({
      service: subject,
      ...(inFleet(fleets, slowVerbs).includes(subject) ? { threshold: replyAwaited } : {}),
    })),
    { service: '$SRV.>', response_type: 'stream' as const }, // every service answers
  ];
  const streams = [...inFleet(fleets, heardByAgents), '_INBOX.>'];
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
