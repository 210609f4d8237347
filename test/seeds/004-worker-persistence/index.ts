/** Seed 004, Worker Persistence Concepts: a worker stays alive while there may be work for it. */
import type { Seed } from '../rule.ts';
import { insights } from './insights.ts';
import { lifecycle } from './lifecycle.ts';

export const seed004: Seed = {
  number: '004',
  title: 'Worker Persistence Concepts',
  parts: [...lifecycle, ...insights],
};
