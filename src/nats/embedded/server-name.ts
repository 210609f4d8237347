/**
 * The name of an embedded NATS server, which it tells every client: the folder whose stopgate.yaml its service follows.
 * A command that finds a server at the default address can tell by it whether that is the one that is meant.
 */
const prefix = 'stopgate:';

/** A server's name must not contain spaces. */
export const nameServer = (folder: string): string => `${prefix}${encodeURI(folder)}`;

/** Null: stopgate did not start that server. */
export function folderOfServer(name: string): string | null {
  if (!name.startsWith(prefix)) return null;
  try {
    return decodeURI(name.slice(prefix.length));
  } catch {
    return null;
  }
}
