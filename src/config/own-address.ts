/**
 * Which addresses may get a secret of the user. Whoever runs a command in a checkout has not read its files: a stopgate.yaml
 * or a `.stopgate/service.json` in it may name any server, also one on this machine, and owner and mode say nothing, since
 * `git clone` writes as the user. So an address that only the files of a folder name gets no token and no credentials but
 * those that lie in the same folder (docs/security.md).
 */
import { realpathSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { AppError } from '../errors.ts';

/** A token for HTTP, as it may be sent to `http`. Null: none. @throws AppError config.bad */
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

/** For a command that goes on without a secret: the same configuration, without those that may not be sent. */
export function withholdSecrets<Known extends Addresses>(config: Known): Known {
  const { http, httpIsFound, token, creds, natsIsFound } = config;
  return {
    ...config,
    token: http !== null && httpIsFound ? null : token,
    creds: natsIsFound && !isOwnCredentials(config) ? null : creds,
  };
}

/** Credentials that were given, as they may be sent to `nats`. Undefined: none. @throws AppError config.bad */
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
/** Holds for credentials of the folder whose file names them. */
const isOwnCredentials = ({ creds, credsIsFound, filePath }: CredentialsFile): boolean =>
  creds !== null && credsIsFound && isReallyIn(creds, dirname(filePath));

const refusal = (secret: string, url: string, mend: string): AppError =>
  new AppError(
    'config.bad',
    `only the files of this folder name ${url}, so it does not get your ${secret}; if you trust that server, name it yourself, with ${mend}`,
  );

/**
 * Holds if the path is in the folder, with links resolved. A missing path is in no folder, and cannot be read either.
 */
function isReallyIn(path: string, folder: string): boolean {
  try {
    return realpathSync(path).startsWith(`${realpathSync(folder)}${sep}`);
  } catch {
    return false;
  }
}
