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

/**
 * Reads the headers of a message, which anybody may have written, in one pass. The library looks at all names for each one,
 * so 7,000 of them, in 68 KB, took it half a second in which nobody is answered; and it throws for a name or value that
 * cannot be one. Such a header is left out here.
 */
export function decodeHeaders(block: Uint8Array): InstanceType<typeof MsgHdrsImpl> {
  const [status = '', ...lines] = Buffer.from(block.buffer, block.byteOffset, block.length).toString().split('\r\n');
  const decoded = decodeByLibrary(Buffer.from(status));
  for (const line of lines) {
    const colon = line.indexOf(':');
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
    if (colon < 0 || !printable.test(name) || lineBreak.test(value)) continue;
    const values = decoded.headers.get(name);
    if (values === undefined) decoded.headers.set(name, [value]);
    else values.push(value);
  }
  return decoded;
}

const decodeByLibrary = MsgHdrsImpl.decode;
const printable = /^[!-~]*$/;
const lineBreak = /[\r\n]/;
// For all that the library makes: the messages of every connection, and those that it reads from a stream.
MsgHdrsImpl.decode = decodeHeaders;

/** The parts of which `connect` of that package makes its connections. */
const transport = createRequire(import.meta.url)('@nats-io/transport-node/lib/node_transport.js') as Transport;
export const { NodeTransport, nodeResolveHost, VERSION: libraryVersion } = transport;
