/** What the helpers here have started and not ended yet, in words. The leak check looks at it after each file. */
export const unclosed = new Set<string>();
