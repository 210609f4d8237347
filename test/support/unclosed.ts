/** What the helpers here have started and not ended yet, as text. The leak check reads it after each file. */
export const unclosed = new Set<string>();
