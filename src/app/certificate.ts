/** The certificate of HTTPS while a service runs: read from its two files, and again when they change. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config/config.ts';
import { watchConfigFile } from '../config/watch.ts';
import { AppError } from '../errors.ts';
import type { Certificate } from '../http/server.ts';
import type { Logger } from '../log.ts';

/** Null: HTTP is not encrypted. @throws AppError config.bad: one file without the other, or they are no such files */
export function readCertificate({ tlsCert, tlsKey }: Pick<Config, 'tlsCert' | 'tlsKey'>): Certificate | null {
  if (tlsCert === null && tlsKey === null) return null;
  if (tlsCert === null || tlsKey === null)
    throw new AppError('config.bad', '--tls-cert and --tls-key go together: give both, or neither');
  const certificate = { cert: read(tlsCert), key: read(tlsKey) };
  try {
    createSecureContext(certificate);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new AppError('config.bad', `'${tlsCert}' and '${tlsKey}' are not a certificate and its key in PEM: ${why}`, {
      cause,
    });
  }
  return certificate;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : message;
    throw new AppError('config.bad', `cannot read '${path}' for TLS: ${why}`, { cause });
  }
}

/** Passes each new certificate on. Files that do not fit each other, as between two writes, change nothing. */
export function followCertificate(config: Config, logger: Logger, onNew: (certificate: Certificate) => void) {
  const onChange = () => {
    try {
      const certificate = readCertificate(config);
      if (certificate !== null) onNew(certificate);
      logger.info({ file: config.tlsCert }, 'the certificate has changed');
    } catch (error) {
      logger.error({ reason: (error as Error).message }, 'the old certificate stays in use');
    }
  };
  const watches = [config.tlsCert, config.tlsKey].flatMap((path) =>
    path === null ? [] : [watchConfigFile(path, onChange, config.fileIntervalMs)],
  );
  return {
    close() {
      for (const watch of watches) watch.close();
    },
  };
}
