/** Unique ids, across processes too, that nobody can foresee: the library's `nuid` counts up from one to the next. */
import { randomUUID } from 'node:crypto';

export const newId = (): string => randomUUID().replaceAll('-', '');
