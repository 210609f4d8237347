/** Ctrl-C ends a service that is still starting, however slow its NATS server is. */
import { connect } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { startCommand } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';
import { startNatsServer } from '../../support/nats-server.ts';

test.each([
  { what: 'one fleet', args: [] },
  { what: 'several fleets', args: ['--fleet', 'a,b'] },
])(
  'Ctrl-C ends a start of $what that waits for JetStream, with exit code 0 and without a ready line',
  async ({ args }) => {
    // Requests to JetStream go elsewhere, where they are received but not answered.
    const account = 'users: [{ user: a, password: a }], mappings: { "$JS.API.>": "elsewhere.>" }';
    const server = await startNatsServer({ config: `accounts: { A: { ${account} } }` });
    const folder = await makeFolder();
    const silent = await connect({ servers: server.url, user: 'a', pass: 'a' });
    try {
      const asked = new Promise<void>((done) => {
        silent.subscribe('elsewhere.>', { callback: () => done() });
      });
      await silent.flush();
      const nats = server.url.replace('//', '//a:a@');
      const service = startCommand(['serve', '--nats', nats, '--http', '127.0.0.1:0', ...args], { cwd: folder.path });
      await asked;
      expect(await service.kill('SIGINT')).toBe(0);
      expect(service.stdout()).toBe('');
      expect(service.stderr()).not.toContain('"level":"error"');
    } finally {
      await silent.close();
      await server.stop();
      await folder.remove();
    }
  },
);
