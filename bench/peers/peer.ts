/** One way to answer an agent's stops, with a durable record of each attempt and its decision. */

export type Peer = {
  readonly name: string;
  /** When a record is on the disk, as a short text. */
  readonly durability: string;
  /** Reports a tool event. Resolves once it is stored. */
  report(worker: string): Promise<unknown>;
  /** Asks for a stop. Resolves with the decision. */
  stop(worker: string): Promise<unknown>;
  /** Used so far, in microseconds; NaN where the system does not tell. */
  cpuUs(): Cpu;
};

/** Of the process that decides, and of the one that stores. */
export type Cpu = { readonly service: number; readonly store: number };

/** Where a peer is opened. */
export type Place = {
  /** Of the NATS server. */
  readonly url: string;
  /** The folder that peers are installed into. */
  readonly cache: string;
  /** For the peer's files; removed at the end. */
  readonly folder: string;
  /** Is run at the end, the last one first. */
  onClose(close: () => Promise<void>): void;
};

/** It cannot be had here. The message says why, for the table; the others are measured all the same. */
export class PeerMissing extends Error {}
