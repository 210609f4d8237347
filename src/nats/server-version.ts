/** Tells from the version of a nats-server what it can be trusted with. */
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';

/** Major, minor and patch. */
type ServerVersion = readonly [number, number, number];
export type ServerRelease = {
  readonly version: ServerVersion;
  /** True for versions such as 2.11.0-RC.1, which precede 2.11.0. */
  readonly prerelease: boolean;
};

/** @param text contains a version, such as `nats-server: v2.15.2`. Without one, the version is 0.0.0. */
export function parseRelease(text: string): ServerRelease {
  const [, major = 0, minor = 0, patch = 0] = (/v?(\d+)\.(\d+)\.(\d+)/.exec(text) ?? []).map(Number);
  return { version: [major, minor, patch], prerelease: /\d-/.test(text) };
}

export function isAtLeast(version: ServerVersion, wanted: ServerVersion): boolean {
  const differing = version.findIndex((part, index) => part !== wanted[index]);
  return differing < 0 || (version[differing] ?? 0) > (wanted[differing] ?? 0);
}

/**
 * Tells whether a single message from an anonymous client can delete every stream (`$JS.API.ACCOUNT.PURGE`,
 * CVE-2025-30215, fixed in 2.10.27 and 2.11.1) or crash the server (up to 2.9.14, by a request whose reply subject
 * contains a wildcard, nats-io/nats-server#3862). Permissions prevent neither.
 */
export function isUnsafe({ version, prerelease }: ServerRelease): boolean {
  const isFrom = (fixed: ServerVersion) =>
    isAtLeast(version, fixed) && !(prerelease && version.join('.') === fixed.join('.'));
  const [major, minor] = version;
  return !isFrom([2, 11, 1]) && !(major === 2 && minor === 10 && isFrom([2, 10, 27]));
}

/** Warns if clients on other machines can reach a server that is unsafe. */
export function warnOfUnsafeServer(nc: NatsConnection, log: Logger): void {
  const version = nc.info?.version ?? 'unknown';
  const address = nc.getServer();
  if (!isUnsafe(parseRelease(version)) || isThisMachine(address)) return;
  log.warn(
    { version, address },
    'any client of this nats-server can stop it, or delete the log, with one message: update it to 2.11.1 or later',
  );
}

const isThisMachine = (address: string) => /^(127\.|localhost:|\[?::1)/i.test(address);

// In older versions, peers of a replicated stream could assign different sequences after one of them was killed
// (nats-server pull requests 4365, 5939, 6486, 6943). Stopgate replicas that read from different peers would then
// disagree permanently. A single node has no peers, so 2.9 is enough there.

/** The oldest version tested with three nodes, and at the storage limit of an account. */
const tested = { major: 2, minor: 15 };

/** @param version as the server announces it, such as `2.15.2` @throws AppError stream.foreign */
export function refuseUntestedCluster(version: string, replicas: number): void {
  if (replicas <= 1 || isTestedServer(version)) return;
  const why = `a log with ${replicas} replicas needs nats-server ${tested.major}.${tested.minor} or later on each node, and this one is ${version}`;
  const risk = 'in older versions, replicas of a log could number entries differently after a node was killed';
  throw new AppError('stream.foreign', `${why}: ${risk}. Update the nodes, or keep the log on one with --replicas 1`);
}

/** Number of replicas of a new log, unless configured. */
export const defaultReplicas = ({ info }: NatsConnection): number =>
  info?.cluster !== undefined && isTestedServer(info.version) ? 3 : 1;

export function isTestedServer(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)\./.exec(version) ?? [];
  return Number(major) > tested.major || (Number(major) === tested.major && Number(minor) >= tested.minor);
}
