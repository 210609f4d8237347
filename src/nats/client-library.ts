/**
 * The part of the NATS library that a command needs. It is CommonJS: an `import` of it would first parse all of its
 * files for the names that they export, which takes as long as loading them.
 */
import { createRequire } from 'node:module';

type Library = typeof import('@nats-io/transport-node');

export const {
  AuthorizationError,
  connect,
  createInbox,
  credsAuthenticator,
  PermissionViolationError,
  RequestError,
  TimeoutError,
  UserAuthenticationExpiredError,
} = createRequire(import.meta.url)('@nats-io/transport-node') as Library;
