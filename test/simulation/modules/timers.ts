/** `node:timers/promises` of the simulated service: Node's own would take real time. */
export const setTimeout = (ms: number) => new Promise<void>((done) => void globalThis.setTimeout(done, ms));
export const setImmediate = () => new Promise<void>((done) => void globalThis.setImmediate(done));
