/** Ctrl-C ends a service that is still starting, however slow the server is that it waits for. */
import { connect } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { startCommand } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';
import { startNatsServer } from '../../support/nats-server.ts';

test('Ctrl-C ends a start that waits for JetStream, with 0 and without a ready line', { timeout: 60_000 }, async () => {
  // What is asked of JetStream goes elsewhere, where it is heard and gets no answer.
  const account = 'users: [{ user: a, password: a }], mappings: { "$JS.API.>": "elsewhere.>" }';
  const server = await startNatsServer({ config: `accounts: { A: { ${account} } }` });
  const folder = await makeFolder();
  const silent = await connect({ servers: server.url, user: 'a', pass: 'a' });
  try {
    const asked = new Promise<void>((done) => {
      silent.subscribe('elsewhere.>', { callback: () => done() });
    });
    await silent.flush();
    const service = startCommand(['serve', '--nats', server.url.replace('//', '//a:a@')], { cwd: folder.path });
    await asked;
    expect(await service.kill('SIGINT')).toBe(0);
    expect(service.stdout()).toBe('');
  } finally {
    await silent.close();
    await server.stop();
    await folder.remove();
  }
});
