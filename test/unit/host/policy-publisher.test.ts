/** Which policies a replica appends, with a log that may refuse them. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createFleet } from '../../../machines/index.ts';
import type { PolicyForm } from '../../../src/config/file.ts';
import { createFoldProgress } from '../../../src/host/fold/fold-progress.ts';
import {
  createPolicyPublisher,
  type PolicyPublisherOptions,
  type PublishedPolicies,
} from '../../../src/host/maintenance/policy-publisher.ts';
import { createOwnEntries } from '../../../src/host/own-entries.ts';
import { lifecycleAtHead } from './lifecycle-at-head.ts';

const form = (retries: number): PolicyForm => ({ policies: { default: { retries } } });

/** `deliver` folds the entries that were appended. */
function createScene(published: PublishedPolicies | null = null) {
  const appended: PolicyForm[] = [];
  const append = (_subject: string, payload: string) => {
    appended.push(JSON.parse(payload));
    return new Promise(() => {});
  };
  const shared = {
    fleet: createFleet('main'),
    replica: 'r1',
    lifecycle: lifecycleAtHead(),
    newId: () => 'id',
    logger: pino({ level: 'silent' }),
    metrics: { policyConflict: () => {} },
  };
  const entries = createOwnEntries({ ...shared, log: { append } as never, progress: createFoldProgress() });
  const publisher = createPolicyPublisher({ ...shared, entries } as unknown as PolicyPublisherOptions);
  if (published !== null) publisher.restore(published);
  return { publisher, appended, deliver: () => publisher.onStored(appended.at(-1), 'r1') };
}

// Root cause: policies were noted before they were stored, so a start from a snapshot of that moment took them for
// published.
test('after a restart, policies are appended again only if the log has not stored them', () => {
  const before = createScene();
  before.publisher.set(form(1));
  const unstored = createScene(before.publisher.capture());
  unstored.publisher.set(form(1));
  expect(unstored.appended).toEqual([form(1)]);
  unstored.deliver();
  const stored = createScene(unstored.publisher.capture());
  stored.publisher.set(form(1));
  expect(stored.appended).toEqual([]);
});

test('equal policies are appended once; a change that is reverted before it is stored is appended, too', () => {
  const { publisher, appended, deliver } = createScene();
  publisher.set(form(1));
  publisher.set(form(1));
  deliver();
  publisher.set(form(2));
  publisher.set(form(1));
  expect(appended).toEqual([form(1), form(2), form(1)]);
});
