/** `heartbeat.sent`: the worker is there, and nothing else. */
import { noFields } from './fields.ts';

export const heartbeatSent = noFields;
