/** `node:timers/promises` for the simulated service, in virtual time. */
export const setTimeout = (ms: number) => new Promise<void>((done) => void globalThis.setTimeout(done, ms));
export const setImmediate = () => new Promise<void>((done) => void globalThis.setImmediate(done));
