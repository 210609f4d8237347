/** The policies that an agent's stops will be judged by. */
import { z } from 'zod';
import type { Policy } from '../../../machines/index.ts';
import type { Config } from '../../config/config.ts';
import { askHttp } from './ask-http.ts';

const replySchema = z.object({ seq: z.number().nullable(), text: z.string() });

/**
 * Those of this folder's stopgate.yaml. Without one they are those that the service at `http` has in force; where none
 * answers (`http` null likewise) there are none.
 */
export async function findPolicies(config: Config, http: string | null): Promise<ReadonlyMap<string, Policy>> {
  const { file, fileText, fleet, token } = config;
  if (fileText !== null || http === null) return file.policySet.policies;
  const reply = await askHttp(`${http}/api/${fleet}/policy`, token);
  const { data } = replySchema.safeParse(typeof reply === 'string' ? null : reply.body);
  // Without a number the text is an example.
  if (data === undefined || data.seq === null) return new Map();
  const { readConfigFile } = await import('../../config/file-reader.ts');
  const read = readConfigFile(data.text, 'stopgate.yaml');
  return read.ok ? read.file.policySet.policies : new Map();
}
