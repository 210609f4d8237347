/** Preloaded into a measured service: reports its heap after a collection, and its CPU time. */
export type Probed = { readonly heapBytes: number; readonly rssBytes: number; readonly cpuMs: number };

const collect = (globalThis as { gc?: () => void }).gc;

process.on('message', () => {
  collect?.();
  const { heapUsed, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  process.send?.({ heapBytes: heapUsed, rssBytes: rss, cpuMs: (user + system) / 1_000 } satisfies Probed);
});
// Do not keep the service running.
process.channel?.unref();
