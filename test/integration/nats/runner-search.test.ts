/** Finds runners that nobody serves. */
import { expect, onTestFinished, test } from 'vitest';
import { openConnection } from '../../../src/nats/connection.ts';
import { createFindMissingRunners } from '../../../src/nats/missing-runners.ts';
import { openNats } from '../../support/shared-server.ts';

test('the result is null while the server is unreachable, and empty if no runner is named', async () => {
  const server = await openNats({});
  onTestFinished(() => server.stop());
  const nc = await openConnection({ url: server.url, name: 'test', patient: true });
  onTestFinished(() => nc.close());
  const open = () => createFindMissingRunners(nc, 'main');
  expect(await open()(['box', 'gpu'])).toEqual(['box', 'gpu']);
  expect(await open()([])).toEqual([]);
  const search = open();
  expect(search(['box'])).toBe(search(['box'])); // cached for 10 s
  expect(await search(['box'])).toEqual(['box']);
  nc.subscribe('$SRV.INFO.stopgate-runner', {
    callback: (_error, message) =>
      void message.respond(JSON.stringify({ endpoints: [{ subject: 'stopgate.main.run.box' }] })),
  });
  await nc.flush();
  expect(await search(['box', 'gpu'])).toEqual(['gpu']); // the policies have changed
  await server.kill();
  expect(await open()(['box'])).toBeNull();
});
