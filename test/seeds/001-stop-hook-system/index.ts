/** Seed 001, Stop Hook System: hooks on a task say complete, continue or escalate after each iteration. */
import type { Seed } from '../rule.ts';
import { integration } from './flow.ts';
import { outlook } from './future.ts';
import { overview } from './overview.ts';
import { patterns } from './patterns.ts';
import { presets } from './presets.ts';
import { performance } from './safety.ts';
import { tools } from './tools.ts';
import { types } from './types.ts';

export const seed001: Seed = {
  number: '001',
  title: 'Stop Hook System',
  parts: [...overview, ...types, ...tools, ...presets, ...integration, ...performance, ...patterns, ...outlook],
};
