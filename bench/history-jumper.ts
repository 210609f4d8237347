/**
 * Somebody who jumps: a process of its own, as a browser is, so that what it receives does not hold up whoever measures
 * the decisions. It is sent a service and a place in its log, and answers with how long the jump took.
 */
export type Jump = { readonly http: string; readonly seq: number };

process.on('message', async ({ http, seq }: Jump) => {
  const startedMs = performance.now();
  const response = await fetch(`${http}/api/main/at/${seq}`);
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${response.status} at entry ${seq}`);
  process.send?.(performance.now() - startedMs);
});
