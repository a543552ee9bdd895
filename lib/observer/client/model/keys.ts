// What keys do, all of them: `j` and `k` move in a table, `g` and then a letter opens a page.

export type Command =
  | { readonly type: "row"; readonly by: number }
  | { readonly type: "search" | "help" | "copy" | "pause" | "times" | "leave" }
  | { readonly type: "page"; readonly letter: string };

export interface KeyState {
  /** When `g` was pressed, while a letter may follow. */
  readonly goAt: number | undefined;
}

export interface Pressed {
  readonly key: string;
  /** Whether Control, Alt or Meta is held: such keys belong to the browser. */
  readonly isChord: boolean;
  /** Whether the focus is where text is written. */
  readonly isTyping: boolean;
  /** Milliseconds, rising. */
  readonly at: number;
}

export const keysBegin: KeyState = { goAt: undefined };
/** Time for the letter behind `g`. */
const PATIENCE_MS = 1_500;

const COMMANDS: Readonly<Record<string, Command>> = {
  j: { type: "row", by: 1 },
  k: { type: "row", by: -1 },
  "/": { type: "search" },
  "?": { type: "help" },
  c: { type: "copy" },
  p: { type: "pause" },
  t: { type: "times" },
  Escape: { type: "leave" },
};

/** The keys and what they do, as the help shows them. */
export const KEY_HELP: readonly (readonly [keys: string, text: string])[] = [
  ["j k", "next and previous row"],
  ["Enter", "open the row"],
  ["/", "search"],
  ["c", "copy the table as text"],
  ["t", "times as distances or as clock times"],
  ["p", "hold the page as it is, and let it go on"],
  ["Esc", "leave a field or a dialog"],
  ["?", "these keys"],
];

export function decideKey(
  state: KeyState,
  { key, isChord, isTyping, at }: Pressed,
): readonly [KeyState, Command | undefined] {
  if (isChord) return [keysBegin, undefined];
  // In a field, only Escape is not text.
  if (isTyping) return [keysBegin, key === "Escape" ? COMMANDS.Escape : undefined];
  if (state.goAt !== undefined && at - state.goAt <= PATIENCE_MS && /^[a-z]$/.test(key))
    return [keysBegin, { type: "page", letter: key }];
  if (key === "g") return [{ goAt: at }, undefined];
  return [keysBegin, Object.hasOwn(COMMANDS, key) ? COMMANDS[key] : undefined];
}
