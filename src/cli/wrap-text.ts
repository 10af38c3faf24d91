/** Keeps a text on one line. */
export function whole(text: string): string {
  return text.replaceAll(' ', '\u00a0');
}

/** Breaks a text at spaces into lines of at most `room` characters. */
export function wrapped(text: string, room: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > room) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.map((line) => line.replaceAll('\u00a0', ' '));
}
