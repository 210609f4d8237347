/** Unique ids, across processes too, that nobody can foresee: the library's `nuid` counts up from one to the next. */

export const newId = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex');
