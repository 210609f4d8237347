/** A NATS server with JetStream, in memory: subjects, wildcards, queue groups, no-responder replies. One process. */
import type { Listener } from '../network.ts';
import type { Random } from '../random.ts';
import type { Process, Scheduler } from '../scheduler.ts';
import { type Cluster, createCluster, oneNode } from './cluster.ts';
import { createJetStream, type JetStream, type JetStreamOptions } from './jetstream.ts';
import { empty, type Message, matches, readCommands, writeHeader, writeMessage } from './protocol.ts';
import type { Disk } from './store.ts';

export type Subscriber = {
  readonly pattern: readonly string[];
  readonly queue: string | null;
  readonly deliver: (message: Message) => void;
};

export type NatsServer = Listener & {
  readonly jetStream: JetStream;
  readonly cluster: Cluster;
  publish(message: Message): void;
  /** @returns a function that removes it */
  subscribe(subject: string, queue: string | null, deliver: (message: Message) => void): () => void;
};

export type ServerOptions = {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly process: Process;
  readonly disk: Disk;
  /** Called for each message that the server routes. */
  readonly trace: (message: Message) => void;
  readonly onPurge: JetStreamOptions['onPurge'];
  /** Three nodes, which look like one to clients. */
  readonly isCluster: boolean;
};

export function createNatsServer(options: ServerOptions): NatsServer {
  const { scheduler, random, process, disk, trace, onPurge, isCluster } = options;
  const cluster = isCluster ? createCluster(scheduler, random, process) : oneNode;
  const version = isCluster ? '2.15.2' : '2.9.10';
  const subscribers = new Set<Subscriber>();
  const hasInterest = (subject: string) => {
    const tokens = subject.split('.');
    for (const { pattern } of subscribers) if (matches(pattern, tokens)) return true;
    return false;
  };
  const route = (message: Message, to = message.subject): boolean => {
    const tokens = to.split('.');
    const groups = new Map<string, Subscriber[]>();
    let found = false;
    for (const subscriber of [...subscribers]) {
      if (!matches(subscriber.pattern, tokens)) continue;
      found = true;
      if (subscriber.queue === null) subscriber.deliver(message);
      else groups.set(subscriber.queue, [...(groups.get(subscriber.queue) ?? []), subscriber]);
    }
    for (const group of groups.values()) random.pick(group).deliver(message);
    return found;
  };
  const publish = (message: Message) => {
    trace(message);
    const taken = jetStream.take(message);
    const heard = route(message);
    if (taken || heard || message.reply === '') return;
    route({ subject: message.reply, reply: '', header: writeHeader('503', {}), data: empty });
  };
  const subscribe: NatsServer['subscribe'] = (subject, queue, deliver) => {
    const subscriber = { pattern: subject.split('.'), queue, deliver };
    subscribers.add(subscriber);
    return () => subscribers.delete(subscriber);
  };
  const send = (message: Message, to?: string) => void route(message, to);
  const jetStream = createJetStream({ scheduler, random, process, disk, send, hasInterest, onPurge, cluster });
  return {
    process,
    jetStream,
    cluster,
    publish,
    subscribe,
    accept(link) {
      const ends = new Map<string, () => void>();
      let queued: Uint8Array[] = [];
      const write = (bytes: Uint8Array) => {
        // All output of one server step is sent in one piece.
        if (queued.push(bytes) > 1) return;
        queueMicrotask(() => {
          link.toClient.send(Buffer.concat(queued));
          queued = [];
        });
      };
      const info = { server_id: 'SIM', server_name: 'sim', version, proto: 1, headers: true, jetstream: true };
      const limits = { max_payload: 1_048_576, host: 'sim', port: 4222, client_id: 1, auth_required: true };
      write(Buffer.from(`INFO ${JSON.stringify({ ...info, ...limits })}\r\n`));
      const onSub = (subject: string, queue: string | null, sid: string) => {
        ends.set(
          sid,
          subscribe(subject, queue, (message) => write(writeMessage(message, sid))),
        );
      };
      const endSub = (sid: string) => {
        ends.get(sid)?.();
        ends.delete(sid);
      };
      return {
        onData(bytes) {
          for (const command of readCommands(bytes)) {
            if (command.kind === 'ping') write(Buffer.from('PONG\r\n'));
            else if (command.kind === 'pub') publish(command.message);
            else if (command.kind === 'sub') onSub(command.subject, command.queue, command.sid);
            // A client that wants one more message unsubscribes itself after it.
            else if (command.kind === 'unsub' && command.max === null) endSub(command.sid);
          }
        },
        onClose() {
          for (const sid of [...ends.keys()]) endSub(sid);
        },
      };
    },
  };
}
