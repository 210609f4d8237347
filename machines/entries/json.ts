/** Payloads as JSON. */
import { jsonDepthMax } from '../values/limits.ts';

/** An object in JSON, '' standing for `{}`. */
export function readJson(text: string): { ok: true; value: object } | { ok: false; message: string } {
  if (text === '') return { ok: true, value: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ok: true, value };
    return { ok: false, message: 'the payload is JSON but no object' };
  } catch (error) {
    return { ok: false, message: `the payload is no JSON: ${(error as Error).message}` };
  }
}

export const tooDeepMessage = `objects and arrays may nest ${jsonDepthMax} deep`;

export function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth >= jsonDepthMax) return true;
  for (const member of Object.values(value)) if (isTooDeep(member, depth + 1)) return true;
  return false;
}
