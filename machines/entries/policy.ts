/** `policy.set`: replaces the whole set of policies. */
import { policySetSchema } from '../policy/policy-set.ts';

export const policySet = policySetSchema;
