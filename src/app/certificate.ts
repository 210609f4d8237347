/** Reads the HTTPS certificate and key from their files, and reloads them when they change. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config/config.ts';
import { watchFile } from '../config/watch.ts';
import { AppError } from '../errors.ts';
import type { Certificate } from '../http/server.ts';
import type { Logger } from '../log.ts';

/**
 * Returns null if HTTP is not encrypted.
 * @throws AppError config.bad if only one file is given, or if they are not a certificate and its key
 */
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
    const text = readFileSync(path, 'utf8');
    // Node treats an empty certificate as none.
    if (text === '') throw new Error('it is empty');
    return text;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : message;
    throw new AppError('config.bad', `cannot read '${path}' for TLS: ${why}`, { cause });
  }
}

/**
 * Calls `onNew` with each new certificate. Ignores files that do not match each other, as between two writes.
 * @param known the certificate in use; its files may have changed since it was read
 */
export function followCertificate(
  config: Config,
  known: Certificate | null,
  logger: Logger,
  onNew: (certificate: Certificate) => void,
) {
  let current = known;
  const onChange = () => {
    try {
      const certificate = readCertificate(config);
      // A change of both files is reported twice.
      if (certificate === null || (certificate.cert === current?.cert && certificate.key === current.key)) return;
      current = certificate;
      onNew(certificate);
      logger.info({ file: config.tlsCert }, 'the certificate has changed');
    } catch (error) {
      logger.error({ reason: (error as Error).message }, 'the old certificate stays in use');
    }
  };
  const watch = (path: string | null, text: string | undefined) =>
    path === null ? [] : [watchFile({ path, onChange, logger, intervalMs: config.fileIntervalMs, known: text })];
  const watches = [...watch(config.tlsCert, known?.cert), ...watch(config.tlsKey, known?.key)];
  return {
    close() {
      for (const each of watches) each.close();
    },
  };
}
