/**
 * docs/security/nats.md, "JWT accounts": runs the output of `stopgate permissions --nsc` with a real nsc, if installed.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { credsAuthenticator } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { makeFolder } from '../../support/deployment.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { keepRefusals, refusesPublish, refusesSubscribe } from '../../support/role-client.ts';
import { endService, serveShipped } from '../../support/service.ts';
import { runShipped } from '../../support/shipped.ts';
import { findProgram } from './cluster.ts';

test.skipIf(findProgram('nsc') === undefined)(
  'each role has a .creds file with the permissions of its password',
  async () => {
    const folder = await makeFolder({
      'stopgate.yaml':
        'policies: { default: { runner: box, checks: [{ command: tests, timeout: 10s, onError: block }] } }\n',
      'box/stopgate.yaml': 'commands: { tests: { run: [sh, -c, exit 1], cwd: . } }\n',
    });
    onTestFinished(() => folder.remove());
    const print = await runShipped(['permissions', '--nsc', '--name', 'box'], { cwd: folder.path });
    expect(print).toMatchObject({ code: 0, stderr: '' });
    await folder.write('accounts.sh', print.stdout);
    // nsc uses a temporary folder instead of the user's home.
    await folder.write('bin/nsc', `#!/bin/sh\nexec '${findProgram('nsc')}' -H '${folder.path}/nsc' "$@"\n`);
    const path = [`${folder.path}/bin`, readEnvironment().PATH].join(delimiter);
    const shell = (line: string) =>
      promisify(execFile)('sh', ['-c', line], { cwd: folder.path, env: { PATH: path, HOME: folder.path } });
    await shell('chmod +x bin/nsc && nsc add operator --name o --sys');
    await shell('sh accounts.sh');
    await shell('nsc generate config --mem-resolver --sys-account SYS >nats.conf');

    const nats = await startNatsServer({ config: await readFile(join(folder.path, 'nats.conf'), 'utf8') });
    onTestFinished(() => nats.stop());
    const creds = (user: string) => ['--nats', nats.url, '--creds', join(folder.path, `${user}.creds`)];
    const service = await serveShipped(['serve', ...creds('service'), '--http', 'off'], folder.path);
    onTestFinished(() => endService(service));
    const runner = await serveShipped(['runner', '--name', 'box', ...creds('runner-box')], join(folder.path, 'box'));
    onTestFinished(() => endService(runner));
    const run = (...args: string[]) => runShipped(args, { cwd: folder.path });
    const [decided, listed, without] = await Promise.all([
      run('decide', 'w1', ...creds('agent')),
      run('workers', ...creds('operator')),
      run('decide', 'w1', '--nats', nats.url),
    ]);
    expect(decided).toMatchObject({ code: 1, stdout: expect.stringContaining('Command tests failed (exit 1)') });
    expect(listed.code).toBe(0);
    expect(without).toMatchObject({ code: 3, stderr: expect.stringContaining('requires credentials') });

    const as = async (user: string) => {
      const authenticator = credsAuthenticator(await readFile(join(folder.path, `${user}.creds`)));
      const nc = await connect({ servers: nats.url, authenticator });
      onTestFinished(() => nc.close());
      return keepRefusals(nc);
    };
    const agent = await as('agent');
    await refusesPublish(agent, 'stopgate.main.own.worker.w1.worker.retired');
    await refusesPublish(agent, '$JS.API.STREAM.DELETE.STOPGATE_main');
    await refusesSubscribe(agent, 'stopgate.main.decide.>');
    await refusesPublish(await as('runner-box'), 'stopgate.main.decide.w1');
    await refusesSubscribe(await as('check'), 'stopgate.main.run.box');
    await refusesPublish(await as('operator'), 'stopgate.main.own.fleet.main.policy.set');
  },
);
