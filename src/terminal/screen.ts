/** The alternate screen of a terminal, without a cursor; leaving it gives back what stood there before. */
export const enterScreen = '\u001b[?1049h\u001b[?25l';
export const leaveScreen = '\u001b[?25h\u001b[?1049l';
