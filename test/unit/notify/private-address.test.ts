/** Addresses that a webhook must not reach, in every form. */
import { expect, test } from 'vitest';
import { isRefused } from '../../../src/notify/private-address.ts';

test.each([
  '127.0.0.1',
  '0.0.0.0',
  '10.1.2.3',
  '172.31.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '255.255.255.255',
  '::1',
  '::',
  '[::1]',
  '::ffff:127.0.0.1',
  '[::ffff:7f00:1]',
  '::127.0.0.1',
  'fd12::1',
  'ff02::1',
  '64:ff9b::10.0.0.1',
  '2002:a00:1::',
  '2002:7f00:1::1',
])('%s is private', (address) => {
  expect([isRefused(address, 'public'), isRefused(address, 'network'), isRefused(address, 'all')]).toEqual([
    true,
    false,
    false,
  ]);
});

test.each(['169.254.169.254', '::ffff:169.254.169.254', '[::ffff:a9fe:a9fe]', 'fe80::1%eth0', 'fd00:ec2::254'])(
  '%s is link-local',
  (address) => {
    expect([isRefused(address, 'public'), isRefused(address, 'network'), isRefused(address, 'all')]).toEqual([
      true,
      true,
      false,
    ]);
  },
);

test.each(['1.1.1.1', '172.32.0.1', '2606:4700::1', '::ffff:8.8.8.8', '2002:808:808::1', 'hooks.example'])(
  '%s is public',
  (address) => {
    expect(isRefused(address, 'public')).toBe(false);
  },
);
