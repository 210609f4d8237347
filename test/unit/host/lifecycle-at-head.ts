/** The lifecycle of a host that has reached the log's head, and never pauses. */
import { createLifecycle, type Lifecycle } from '../../../src/host/lifecycle.ts';

export function lifecycleAtHead(): Lifecycle {
  const lifecycle = createLifecycle(() => 0);
  lifecycle.reachHead();
  return lifecycle;
}
