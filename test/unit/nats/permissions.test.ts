/** Permissions of each role for a NATS server of your own (protocol.md §13). */
import { describe, expect, test } from 'vitest';
import { permissionsFor } from '../../../src/nats/permissions.ts';

describe('restricted scopes', () => {
  test('an agent bound to one worker', () => {
    expect(permissionsFor('agent', { fleet: 'f', worker: 'w1' })).toEqual({
      publish: {
        allow: [
          'stopgate.f.worker.w1.>',
          'stopgate.f.decide.w1',
          'stopgate.f.probe.w1',
          'stopgate.f.verify.w1',
          'stopgate.f.claim-next.w1',
          'stopgate.f.get.worker.w1',
          'stopgate.f.task.>',
          'stopgate.f.queue.>',
          'stopgate.f.evaluate.>',
          'stopgate.f.verify-task.>',
          'stopgate.f.get.task.>',
        ],
      },
      subscribe: { allow: ['_INBOX.>'] },
    });
  });

  test.each([
    { role: 'runner', scope: { name: 'r1' }, served: ['stopgate.f.run.r1'] },
    { role: 'runner', scope: { name: 'r1', checks: ['a'] }, served: ['stopgate.f.run.r1', 'stopgate.f.check.a'] },
    { role: 'runner', scope: {}, served: ['stopgate.f.check.>', 'stopgate.f.run.>'] },
    { role: 'runner', scope: { everyFleet: true }, served: ['stopgate.*.check.>', 'stopgate.*.run.>'] },
    { role: 'check', scope: { checks: ['scan'] }, served: ['stopgate.f.check.scan'] },
    { role: 'check', scope: {}, served: ['stopgate.f.check.>'] },
    { role: 'check', scope: { everyFleet: true }, served: ['stopgate.*.check.>'] },
  ] as const)('a $role of $scope', ({ role, scope, served }) => {
    expect(permissionsFor(role, { fleet: 'f', ...scope })).toEqual({
      publish: { allow: ['_INBOX.>', '_R_.>', '_STOPGATE_INBOX.>'] },
      subscribe: { allow: [...served, '$SRV.>'] },
    });
  });

  test('an agent for any worker is denied the streams of its fleet by name', () => {
    const { publish } = permissionsFor('agent', { fleet: 'f' });
    expect(publish.deny).toContain('$JS.API.STREAM.DELETE.STOPGATE_f');
    expect(publish.deny).toContain('$JS.API.STREAM.PURGE.STOPGATE-DEAD_f');
  });
});
