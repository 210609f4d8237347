/**
 * The part of the NATS library that a command needs. It is CommonJS: an `import` of it would first parse all of its
 * files for the names that they export, which takes as long as loading them.
 */
import { createRequire } from 'node:module';

type Library = typeof import('@nats-io/transport-node');
type Transport = typeof import('@nats-io/transport-node/lib/node_transport.js');
type Core = typeof import('@nats-io/nats-core/internal');

export const {
  AuthorizationError,
  createInbox,
  credsAuthenticator,
  deferred,
  MsgHdrsImpl,
  NatsConnectionImpl,
  PermissionViolationError,
  ProtocolHandler,
  RequestError,
  setTransportFactory,
  TimeoutError,
  UserAuthenticationExpiredError,
} = createRequire(import.meta.url)('@nats-io/transport-node') as Library & Core;

/** The parts of which `connect` of that package makes its connections. */
const transport = createRequire(import.meta.url)('@nats-io/transport-node/lib/node_transport.js') as Transport;
export const { NodeTransport, nodeResolveHost, VERSION: libraryVersion } = transport;
