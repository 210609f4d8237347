/** `policy.set`: replaces the whole set of policies. */
import { policySetSchema } from '../policy/policy.ts';

export const policySet = policySetSchema;
