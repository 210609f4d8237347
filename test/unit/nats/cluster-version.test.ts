/** A replicated log is refused on nats-server versions that it was not tested with. */
import { expect, test } from 'vitest';
import { refuseUntestedCluster } from '../../../src/nats/cluster-version.ts';

test.each(['2.9.10', '2.14.9', '1.20.0', 'unknown'])('nats-server %s: three replicas are refused', (version) => {
  expect(() => refuseUntestedCluster(version, 3)).toThrow(/3 replicas needs nats-server 2\.15 or later.*--replicas 1/);
  expect(() => refuseUntestedCluster(version, 1)).not.toThrow();
});

test.each(['2.15.0', 'v2.15.2', '2.16.1', '3.0.0'])('nats-server %s: three replicas are allowed', (version) => {
  expect(() => refuseUntestedCluster(version, 3)).not.toThrow();
});
