/** Ids that no other process makes. */
import { nuid } from '@nats-io/nats-core';

export const newId = (): string => nuid.next();
