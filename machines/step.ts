/**
 * One step of a machine, as its live actor takes it, on a snapshot that is only data: a fleet holds its actors as
 * snapshots, and one inert scope serves them all. That costs a tenth of a live actor's memory, and a step costs what
 * an actor's `send` costs (XState's own `transition` makes a new scope for each step).
 */
import { type AnyActorScope, type AnyStateMachine, createActor, type EventFrom, type InputFrom, type SnapshotFrom } from 'xstate';

export type Stepper<M extends AnyStateMachine> = {
  readonly start: (input: InputFrom<M>) => SnapshotFrom<M>;
  readonly next: (snapshot: SnapshotFrom<M>, event: EventFrom<M>) => SnapshotFrom<M>;
};

export function createStepper<M extends AnyStateMachine>(machine: M, input: InputFrom<M>): Stepper<M> {
  const self = createActor(machine, { input } as never);
  // The machines have no effects, so nothing of this is ever called; `assign` needs none of it.
  const nothing = () => {};
  const scope: AnyActorScope = {
    ...{ self, id: self.id, sessionId: self.sessionId, system: self.system },
    ...{ logger: nothing, defer: nothing, emit: nothing, stopChild: nothing, actionExecutor: nothing },
  };
  return {
    start: (given) => machine.getInitialSnapshot(scope, given) as SnapshotFrom<M>,
    next: (snapshot, event) => machine.transition(snapshot as never, event, scope) as SnapshotFrom<M>,
  };
}
