/** The lifecycle of a host at the log's head that never pauses. */
import { createLifecycle, type Lifecycle } from '../../../src/host/lifecycle.ts';

export function lifecycleAtHead(): Lifecycle {
  const lifecycle = createLifecycle(() => 0);
  lifecycle.reachHead();
  return lifecycle;
}
