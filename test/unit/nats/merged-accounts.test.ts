/** Merged accounts of several fleets: the same users with the union of their permissions. */
import { expect, test } from 'vitest';
import { accountsOf, type Member, mergeAccounts } from '../../../src/nats/accounts.ts';
import { roles } from '../../../src/nats/permissions.ts';

const of = (fleet: string) =>
  accountsOf(
    fleet,
    roles.map((role): Member => ({ role, fleet, user: role, password: `of-${role}` })),
  );

test('each user keeps the permissions of both fleets', () => {
  const [a, b] = [of('a'), of('b')];
  const both = mergeAccounts(a, b);
  expect(Object.keys(both)).toEqual(Object.keys(a));
  for (const [name, { users = [], exports = [], imports = [] }] of Object.entries(both)) {
    expect(users.map(({ user }) => user)).toEqual(a[name]?.users?.map(({ user }) => user));
    const text = JSON.stringify({ users, exports, imports });
    for (const each of [a, b])
      for (const subject of JSON.stringify(each[name] ?? {}).match(/stopgate\.[ab]\.[^"]*/g) ?? [])
        expect(text).toContain(subject);
  }
});

test('merging a fleet with itself changes nothing', () => expect(mergeAccounts(of('a'), of('a'))).toEqual(of('a')));
