/**
 * Jumps to the past in a separate process, like a browser, so that reading the answer does not delay the measurement.
 * Gets a service and a log sequence, and answers with the duration of the jump.
 */
export type Jump = { readonly http: string; readonly seq: number };

process.on('message', async ({ http, seq }: Jump) => {
  const startedMs = performance.now();
  const response = await fetch(`${http}/api/main/at/${seq}`);
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${response.status} at entry ${seq}`);
  process.send?.(performance.now() - startedMs);
});
