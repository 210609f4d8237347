/** The scenarios of all histories, and a function that plays one. */
import { checks } from './checks.ts';
import { fleets } from './fleets.ts';
import { people } from './people.ts';
import type { Scenario, Scenarios } from './scenario.ts';
import { openStage } from './stage.ts';
import { stops } from './stops.ts';
import { tasks } from './tasks.ts';

export const scenarios: Scenarios = { ...stops, ...checks, ...tasks, ...people, ...fleets };

/** @returns the log in the format of `stopgate export` */
export async function play(name: string): Promise<string> {
  const { config = {}, play: run } = scenarios[name] as Scenario;
  const stage = await openStage((webhook) => (typeof config === 'function' ? config(webhook) : config));
  try {
    await run(stage);
  } catch (error) {
    await stage.close().catch(() => '');
    throw error;
  }
  return stage.close();
}
