// JSON on a terminal.

/** JSON without control characters of terminals: they are escaped, also where JSON itself does not ask for it. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent);
  return text.replace(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

const INDENT = 2;

/** The same over several lines, for people. */
export function indentedJson(value: unknown): string {
  return jsonText(value, INDENT);
}
