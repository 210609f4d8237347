/** Folds own entries about tasks: answers of remote hooks, and what operators decide (protocol.md §3). */
import type { OwnTaskEntry } from '../entries/index.ts';
import type { TaskEvent } from '../task/context.ts';
import { nextDelivery } from '../values/escalation.ts';
import { type Fleet, placeOf } from './fleet.ts';
import { refuseTask, stepTask, taskSurroundings } from './tasks.ts';

export function foldOwnTask(fleet: Fleet, entry: OwnTaskEntry): void {
  const { id, type, data } = entry;
  const record = fleet.tasks.get(id);
  // `timer.fired` only moves the clock.
  if (record === undefined || type === 'timer.fired') return;
  record.namedMs = fleet.nowMs;
  const event = { type, data, ...placeOf(fleet) } as TaskEvent;
  const { value, context } = record.snapshot;
  switch (type) {
    case 'check.finished':
      stepTask(fleet, id, { ...event, facts: taskSurroundings(fleet, id) } as TaskEvent);
      return;
    case 'escalation.notified': {
      // A late entry is about an escalation that is over.
      const { escalation } = context;
      if (escalation !== null && data.delivery === nextDelivery(fleet.name, 'task', id, escalation))
        stepTask(fleet, id, event);
      return;
    }
    case 'escalation.resolved':
    case 'escalation.acknowledged':
      if (value === 'escalated') stepTask(fleet, id, event);
      else refuseTask(fleet, id, type, `task ${id} is not escalated`);
      return;
  }
}
