/** Permissions of each role on the embedded server (protocol.md §13). */
import { readFile } from 'node:fs/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect as natsConnect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { privateInboxPrefix } from '../../../../src/nats/permissions.ts';
import { refusesPublish, refusesSubscribe } from '../../../support/role-client.ts';

import { ask, echo, firstOn, logStream, openStage, type Stage, serviceVerbs } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

describe('with credentials', () => {
  test('a runner may serve checks and runs, and publish only replies', async () => {
    const runner = await stage.connectAs('runner');
    for (const subject of [
      'stopgate.main.worker.w1.tool.used',
      'stopgate.main.decide.w1',
      'stopgate.main.own.worker.w1.worker.retired',
    ]) {
      await refusesPublish(runner, subject);
    }
    for (const subject of ['stopgate.main.decide.>', 'stopgate.main.worker.>', '>'])
      await refusesSubscribe(runner, subject);
    await refusesPublish(runner, `$JS.API.STREAM.INFO.${logStream}`);
  });

  test('a check server may serve checks, but not runs', async () => {
    const check = await stage.connectAs('check');
    for (const tail of ['run.r1', 'run.>', 'decide.>']) await refusesSubscribe(check, `stopgate.main.${tail}`);
    await refusesPublish(check, 'stopgate.main.worker.w1.tool.used');
  });

  test('an operator may publish the entries of operators and agents, and no others', async () => {
    const operator = await stage.connectAs('operator');
    const own = [
      'worker.w1.escalation.resolved',
      'task.T-1.escalation.acknowledged',
      'worker.w1.worker.retired',
      'worker.w1.worker.paused',
      'worker.w1.worker.unpaused',
    ];
    for (const tail of [...own.map((tail) => `own.${tail}`), 'worker.w1.tool.used', 'task.T-1.task.created']) {
      expect(await jetstream(operator.nc).publish(`stopgate.main.${tail}`, '{}')).toMatchObject({ stream: logStream });
    }
    for (const verb of serviceVerbs) expect(await ask(operator, `stopgate.main.${verb}.x`)).toContain('answer to');
    for (const tail of [
      'own.worker.w1.check.finished',
      'own.fleet.main.policy.set',
      'own.task.T-1.worker.retired',
      'decision.w1',
      'dead.worker.w1',
    ]) {
      await refusesPublish(operator, `stopgate.main.${tail}`);
    }
    for (const call of ['DELETE', 'UPDATE', 'PURGE'])
      await refusesPublish(operator, `$JS.API.STREAM.${call}.${logStream}`);
    await refusesPublish(operator, '$JS.API.STREAM.CREATE.R'); // its republish could forge own entries
  });

  test('an operator may read everything', async () => {
    const operator = await stage.connectAs('operator');
    const heard = await firstOn(operator.nc, 'stopgate.main.own.>');
    stage.service.nc.publish('stopgate.main.own.worker.w1.timer.fired', '{}');
    expect((await heard.arrived).subject).toBe('stopgate.main.own.worker.w1.timer.fired');
    const consumer = await jetstream(operator.nc).consumers.get(logStream, {
      filter_subjects: 'stopgate.main.own.worker.w1.>',
    });
    expect((await consumer.next({ expires: 5_000 }))?.subject).toMatch(/^stopgate\.main\.own\.worker\.w1\./);
    expect(await consumer.delete()).toBe(true);
  });

  test('agents cannot read replies to the service, which uses a private inbox', async () => {
    const { user, pass } = JSON.parse(await readFile(stage.server.credentials('service'), 'utf8')) as {
      user: string;
      pass: string;
    };
    const nc = await natsConnect({ servers: stage.server.url, user, pass, inboxPrefix: privateInboxPrefix });
    onTestFinished(() => nc.close());
    const [spy, check] = [await stage.connect(stage.server.url), await stage.connectAs('check')];
    const heard: string[] = [];
    for (const subject of ['_INBOX.>', 'stopgate.main.dead.>'])
      spy.nc.subscribe(subject, { callback: (_, message) => void heard.push(message.string()) });
    echo(check.nc, 'stopgate.main.check.secret', 'stopgate-check');
    await Promise.all([spy.nc.flush(), check.nc.flush()]);
    const asked = 'stopgate.main.check.secret';
    for (const client of [stage.service.nc, nc])
      expect((await client.request(asked)).string()).toBe(`answer to ${asked}`);
    const { arrived } = await firstOn(spy.nc, 'stopgate.main.dead.worker.last');
    stage.service.nc.publish('stopgate.main.dead.worker.last', 'last');
    await arrived;
    expect(heard).toEqual([`answer to ${asked}`, 'last']); // only the reply to `_INBOX`
  });

  test('the service may do everything', async () => {
    const other = await stage.connectAs('service');
    const { streams } = await jetstreamManager(other.nc);
    await streams.add({ name: 'OWN', subjects: ['own.things'] });
    expect(await streams.delete('OWN')).toBe(true);
    expect(await jetstream(other.nc).publish('stopgate.main.decision.w1', '{}')).toMatchObject({ stream: logStream });
    expect(other.refused).toEqual([]);
  });
});
