/** `heartbeat.sent`: shows only that the worker is alive. */
import { noFields } from './fields.ts';

export const heartbeatSent = noFields;
