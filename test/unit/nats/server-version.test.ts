/** What stopgate refuses and warns of by the version of the nats-server. */
import type { NatsConnection } from '@nats-io/nats-core';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { isUnsafe, parseRelease, refuseUntestedCluster, warnOfUnsafeServer } from '../../../src/nats/server-version.ts';

test.each(['2.9.10', '2.14.9', '1.20.0', 'unknown'])('nats-server %s: three replicas are refused', (version) => {
  expect(() => refuseUntestedCluster(version, 3)).toThrow(/3 replicas needs nats-server 2\.15 or later.*--replicas 1/);
  expect(() => refuseUntestedCluster(version, 1)).not.toThrow();
});

test.each(['2.15.0', 'v2.15.2', '2.16.1', '3.0.0'])('nats-server %s: three replicas are allowed', (version) => {
  expect(() => refuseUntestedCluster(version, 3)).not.toThrow();
});

test.each([
  ['v2.9.10', true],
  ['v2.9.15', true], // CVE-2025-30215
  ['v2.10.26', true],
  ['v2.10.27-RC.1', true],
  ['v2.10.27', false],
  ['v2.11.0', true],
  ['v2.11.1-RC.1', true],
  ['v2.11.1', false],
  ['v2.12.0-RC.1', false],
  ['v3.0.0', false],
])('one message can stop or empty nats-server %s: %s', (version, unsafe) => {
  expect(isUnsafe(parseRelease(version))).toBe(unsafe);
});

test.each([
  ['2.9.10', 'nats.example.org:4222', 1],
  ['2.9.10', '127.0.0.1:4222', 0],
  ['2.9.10', '[::1]:4222', 0],
  ['2.15.2', 'nats.example.org:4222', 0],
])('a client of nats-server %s at %s: %s warnings', (version, address, count) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  warnOfUnsafeServer({ info: { version }, getServer: () => address } as NatsConnection, log);
  expect(lines.filter((line) => line.includes('update it to 2.11.1 or later'))).toHaveLength(count);
});
