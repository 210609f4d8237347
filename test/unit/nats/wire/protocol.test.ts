/** What the wire needs of the library's inside is looked for before anything is sent by it. */
import { expect, test } from 'vitest';
import { findMismatch, WireProtocol } from '../../../../src/nats/wire/protocol.ts';

const create = () => new WireProtocol({ servers: 'nats://127.0.0.1:1' }, {} as never);

test('the library that is installed has all of it', () => {
  expect(findMismatch(create())).toBeNull();
});

test.each([
  { name: 'pongs', value: undefined },
  { name: 'subscriptions', value: { subs: {} } },
  { name: 'outbound', value: undefined },
  { name: 'inMsgs', value: undefined },
  { name: 'infoReceived', value: undefined },
])('one with another $name is not used', ({ name, value }) => {
  const protocol = Object.assign(create(), { [name]: value });
  expect(findMismatch(protocol)).toBe(`it has no ${name} as 3.4.0 has`);
});
