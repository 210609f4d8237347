/** The home folder. */
import { homedir, userInfo } from 'node:os';
import { expect, test, vi } from 'vitest';
import { homeFolder } from '../../../src/config/environment.ts';

test('an empty HOME is not the current folder', () => {
  vi.stubEnv('HOME', '');
  expect(homedir()).toBe(''); // what Node says
  expect(homeFolder({ HOME: '' })).toBe(userInfo().homedir);
  expect(homeFolder({ HOME: '/home/ada' })).toBe('/home/ada');
  vi.unstubAllEnvs();
});
