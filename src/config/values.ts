/** The values that flags, variables and stopgate.yaml have in common: how each is written and what it must be. */
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { durationSchema } from '../../machines/index.ts';
import type { LogLevel } from '../log.ts';

export const logLevelSchema = z.enum(['debug', 'info', 'warn', 'error', 'silent'] satisfies LogLevel[]);

/** One or more servers, separated by commas; each `HOST`, `HOST:PORT`, `nats://…` or `tls://…`. Stays as written. */
export const natsSchema = z
  .string()
  .refine(
    (text) => text.split(',').every((part) => isServer(part.trim())),
    'is no NATS url, such as nats://127.0.0.1:4222',
  );

function isServer(text: string): boolean {
  const url = text.includes('://') ? text : `nats://${text}`;
  if (/\s/.test(text) || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return (protocol === 'nats:' || protocol === 'tls:') && hostname !== '';
}

/** `host` has no brackets, `port` 0 is any free one; `url` has no slash at its end. */
export type HttpAddress = { readonly host: string; readonly port: number; readonly url: string };

/** `HOST:PORT`, `[::1]:PORT`, `PORT` alone (on 127.0.0.1) or an http(s) URL; null for `off` and `none`. */
export const httpSchema = z.string().transform((text, context): HttpAddress | null => {
  if (text === 'off' || text === 'none') return null;
  const address = readAddress(text);
  if (address !== null) return address;
  context.addIssue({ code: 'custom', message: 'is no HOST:PORT, such as 127.0.0.1:4280 (or "off")' });
  return z.NEVER;
});

const addressPattern = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?\/?$/i;

function readAddress(text: string): HttpAddress | null {
  const [, scheme, host = '', digits] = addressPattern.exec(/^\d+$/.test(text) ? `127.0.0.1:${text}` : text) ?? [];
  const port = digits ?? { http: '80', https: '443' }[scheme?.toLowerCase() ?? ''];
  if (port === undefined || Number(port) > 65_535 || !URL.canParse(`http://${host}`)) return null;
  const url = `${scheme?.toLowerCase() ?? 'http'}://${host}:${Number(port)}`;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), url };
}

/** Whether only this machine reaches it. What we cannot tell without a resolver counts as reachable from outside. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** Goes into an HTTP header. Its value is never repeated in a message. */
export const tokenSchema = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'a token holds printable ASCII without spaces, at least one character');

/** The longest wait of a Node timer (2^31 - 1 ms, 24.8 days); a longer one would fire at once. */
const timerMsMax = 2_147_483_647;
export const timerSchema = durationSchema.pipe(
  z.int().max(timerMsMax, `is longer than a timer can run (${timerMsMax} ms)`),
);
