/** Descriptions of everything that helpers have started but not ended. The leak check reads it after each file. */
export const unclosed = new Set<string>();
