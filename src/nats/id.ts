/** Unique ids, across processes too. */
import { nuid } from '@nats-io/nats-core';

export const newId = (): string => nuid.next();
