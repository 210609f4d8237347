/** Ids that are unique across processes and unpredictable: the library's `nuid` counts up from one to the next. */

/** Random bytes for 128 ids are requested from the system at a time: a request for each id would take 5 µs. */
export const newId = (): string => crypto.randomUUID().replaceAll('-', '');
