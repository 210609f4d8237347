/**
 * Decides which addresses may get a secret of the user. People run commands in a checkout without reading its files: a
 * stopgate.yaml or `.stopgate/service.json` in it may name any server, also one on this machine, and `git clone` makes
 * the user the owner of these files. So an address that comes only from files of the folder gets no token, and only
 * credentials from the same folder (docs/security.md).
 */
import { realpathSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { AppError } from '../errors.ts';

/** Returns the HTTP token if it may be sent to `http`. @throws AppError config.bad if it may not */
export function tokenForHttp(
  { http, httpIsFound }: { readonly http: { readonly url: string } | null; readonly httpIsFound: boolean },
  token: string | null,
): string | null {
  if (token === null || http === null || !httpIsFound) return token;
  throw refusal('token', http.url, `--http ${http.url} or STOPGATE_HTTP=${http.url}`);
}

type Addresses = Parameters<typeof givenCredentials>[0] & {
  readonly http: { readonly url: string } | null;
  readonly httpIsFound: boolean;
  readonly token: string | null;
};

/** For commands that can work without secrets: removes those that may not be sent. */
export function withholdSecrets<Known extends Addresses>(config: Known): Known {
  const { http, httpIsFound, token, creds, natsIsFound } = config;
  return {
    ...config,
    token: http !== null && httpIsFound ? null : token,
    creds: natsIsFound && !isOwnCredentials(config) ? null : creds,
  };
}

/** Returns the given credentials if they may be sent to `nats`. @throws AppError config.bad if they may not */
export function givenCredentials(
  config: CredentialsFile & { readonly nats: string; readonly natsIsFound: boolean },
): string | undefined {
  const { nats, creds, natsIsFound } = config;
  if (creds === null) return undefined;
  if (!natsIsFound || isOwnCredentials(config)) return creds;
  const url = nats.replace(/[^/,\s]*@/g, '***@');
  throw refusal(`credentials in '${creds}'`, url, `--nats ${url} or STOPGATE_NATS=${url}`);
}

type CredentialsFile = {
  readonly creds: string | null;
  readonly credsIsFound: boolean;
  readonly filePath: string;
};
/** Tells whether the credentials are in the folder of the file that names them. */
const isOwnCredentials = ({ creds, credsIsFound, filePath }: CredentialsFile): boolean =>
  creds !== null && credsIsFound && isReallyIn(creds, dirname(filePath));

const refusal = (secret: string, url: string, options: string): AppError =>
  new AppError(
    'config.bad',
    `only the files of this folder name ${url}, so it does not get your ${secret}; if you trust that server, name it with ${options}`,
  );

/** Tells whether the path is in the folder, with links resolved. False for a missing path. */
function isReallyIn(path: string, folder: string): boolean {
  try {
    return realpathSync(path).startsWith(`${realpathSync(folder)}${sep}`);
  } catch {
    return false;
  }
}
