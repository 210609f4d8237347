/** Preloaded into a service that is measured: tells its heap after a collection, and the CPU time that it has used. */
export type Probed = { readonly heapBytes: number; readonly rssBytes: number; readonly cpuMs: number };

const collect = (globalThis as { gc?: () => void }).gc;

process.on('message', () => {
  collect?.();
  const { heapUsed, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  process.send?.({ heapBytes: heapUsed, rssBytes: rss, cpuMs: (user + system) / 1_000 } satisfies Probed);
});
// It must not keep the service from its end.
process.channel?.unref();
