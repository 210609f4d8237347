/**
 * The name of an embedded NATS server, which it tells every client: the folder whose stopgate.yaml its service follows.
 * So a command that finds a server at the usual address can tell whether it is the one that is meant.
 */
const prefix = 'stopgate:';

/** A server's name must not contain spaces. */
export const nameServer = (folder: string): string => `${prefix}${encodeURI(folder)}`;

/** Null: a server that was started otherwise. */
export function folderOfServer(name: string): string | null {
  if (!name.startsWith(prefix)) return null;
  try {
    return decodeURI(name.slice(prefix.length));
  } catch {
    return null;
  }
}
