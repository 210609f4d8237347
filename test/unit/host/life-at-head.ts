/** The life of a host that has reached the log's head, and never pauses. */
import { createLife, type Life } from '../../../src/host/life.ts';

export function lifeAtHead(): Life {
  const life = createLife(() => 0);
  life.reachHead();
  return life;
}
