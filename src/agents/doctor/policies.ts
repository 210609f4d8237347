/** The policies that an agent's stops will be judged by. */
import { z } from 'zod';
import type { Policy } from '../../../machines/index.ts';
import type { Config } from '../../config/config.ts';
import { askHttp } from './ask-http.ts';

const replySchema = z.object({ seq: z.number().nullable(), text: z.string() });

/**
 * Those of this folder's stopgate.yaml. Where it has none they are those that the service at `http` has in force. Null:
 * none answers (`http` null likewise), so they are not known.
 */
export async function findPolicies(config: Config, http: string | null): Promise<ReadonlyMap<string, Policy> | null> {
  const { file, fleet, token } = config;
  if (file.policyForm !== null) return file.policySet.policies;
  if (http === null) return null;
  const reply = await askHttp(`${http}/api/${fleet}/policy`, token);
  const { data } = replySchema.safeParse(typeof reply === 'string' ? null : reply.body);
  if (data === undefined) return null;
  // Without a number the text is an example.
  if (data.seq === null) return new Map();
  const { readConfigFile } = await import('../../config/file-reader.ts');
  const read = readConfigFile(data.text, 'stopgate.yaml');
  return read.ok ? read.file.policySet.policies : null;
}

/** There is always a `default`. Policies that are not known (null) may have any name. */
export const isUnknownPolicy = (name: string, policies: ReadonlyMap<string, Policy> | null): boolean =>
  policies !== null && name !== 'default' && !policies.has(name);
