/** Base64 and UTF-8, with the functions that browsers and Node have in common. */

type Runtime = {
  readonly atob: (base64: string) => string;
  readonly TextDecoder: new () => { decode(bytes: Uint8Array): string };
};
// These files are compiled without the types of any runtime.
const { atob, TextDecoder } = globalThis as unknown as Runtime;

/** Returns null for invalid base64. */
export function fromBase64(base64: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
  } catch {
    return null;
  }
}

const decoder = new TextDecoder();

/** Decodes a payload; bytes that are not UTF-8 become U+FFFD (protocol.md §2). */
export const decodeUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes);
