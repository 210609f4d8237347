/** One way to answer an agent's stops, with a durable record of each attempt and its decision. */

export type Peer = {
  readonly name: string;
  /** When a record reaches the disk, as a short text. */
  readonly durability: string;
  /** Reports a tool event. Resolves once it is stored. */
  report(worker: string): Promise<unknown>;
  /** Requests a stop. Resolves with the decision. */
  stop(worker: string): Promise<unknown>;
  /** CPU used so far, in microseconds. NaN if the system does not report it. */
  cpuUs(): Cpu;
};

/** CPU of the process that decides, and of the one that stores. */
export type Cpu = { readonly service: number; readonly store: number };

/** The surroundings of a peer. */
export type PeerContext = {
  /** URL of the NATS server. */
  readonly url: string;
  /** The folder into which peers are installed. */
  readonly cache: string;
  /** For the peer's files. Removed at the end. */
  readonly folder: string;
  /** Registers a function for the end. The last one runs first. */
  onClose(close: () => Promise<void>): void;
};

/** The peer is not available here. The message says why, for the table. The others are measured anyway. */
export class PeerMissing extends Error {}
