/** A text in an address: after the `#`, so that no server gets it, and compressed. */

const prefix = '#policy=';
/** An address must stay one that chat programs take. */
export const sharedCharsMax = 20_000;

export async function toFragment(text: string): Promise<string> {
  const bytes = await pass(new TextEncoder().encode(text), new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return prefix + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Null: the fragment is none of ours, or was cut off. */
export async function fromFragment(fragment: string): Promise<string | null> {
  if (!fragment.startsWith(prefix)) return null;
  try {
    const binary = atob(fragment.slice(prefix.length).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return new TextDecoder().decode(await pass(bytes, new DecompressionStream('deflate-raw')));
  } catch {
    return null;
  }
}

/** @throws Error more than `bytesMax` come out: a short address may unfold to gigabytes */
async function pass(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  bytesMax = 4 * sharedCharsMax,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let length = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    length += value.length;
    if (length > bytesMax) throw new Error(`more than ${bytesMax} bytes`);
    parts.push(value);
  }
}
