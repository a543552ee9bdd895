// Texts of others on a terminal: terminals obey control characters, and characters of direction and format change what people see.

/** In one line, without control characters. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");
}

/** The same, but with the ends of its lines. */
export function printable(text: string): string {
  return text.split("\n").map(oneLine).join("\n");
}
