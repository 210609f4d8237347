/** Ids that are unique across processes and unpredictable: the library's `nuid` counts up from one to the next. */

/** Random bytes for 512 ids are requested from the system at a time: a request for each id would take 5 µs. */
const idBytes = 16;
const random = new Uint8Array(512 * idBytes);
let used = random.length;

/** 128 random bits as 32 hex digits. */
export function newId(): string {
  if (used === random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  used += idBytes;
  return Buffer.from(random.buffer, used - idBytes, idBytes).toString('hex');
}
