/** Bytes in base64, with the functions that browsers and Node have in common. */

type Runtime = {
  readonly atob: (base64: string) => string;
  readonly TextDecoder: new () => { decode(bytes: Uint8Array): string };
};
// These files know no runtime's types.
const { atob, TextDecoder } = globalThis as unknown as Runtime;

/** Null: it is no base64. */
export function fromBase64(base64: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
  } catch {
    return null;
  }
}

const decoder = new TextDecoder();

/** As every payload is read: what is no UTF-8 becomes U+FFFD (protocol.md §2). */
export const decodeUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes);
