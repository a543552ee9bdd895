// A value as indented JSON, of a bounded length.

/** Most characters that are shown of one value. */
export const SHOWN_CHARACTERS = 20_000;

export function jsonText(
  value: unknown,
  most: number = SHOWN_CHARACTERS,
): { readonly text: string; readonly left: number } {
  const whole = JSON.stringify(value, null, 2) ?? "undefined";
  if (whole.length <= most) return { text: whole, left: 0 };
  // Half a surrogate pair is no character.
  const text = whole.slice(0, most).replace(/[\ud800-\udbff]$/, "");
  return { text, left: whole.length - text.length };
}

/** A value in one line, for a cell of a table. */
export function jsonLine(value: unknown, most = 120): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : (errorLine(value) ?? JSON.stringify(value) ?? "");
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** Errors come as objects with a name and a message. */
function errorLine(value: unknown): string | undefined {
  const { name, message } = value as { readonly name?: unknown; readonly message?: unknown };
  if (typeof message !== "string") return undefined;
  return typeof name === "string" ? `${name}: ${message}` : message;
}
