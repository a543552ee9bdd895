// The keys that a terminal in raw mode sends, as bytes of text.

/** A key: one with a name, or a character. */
export type Key =
  | {
      readonly key:
        | "enter"
        | "escape"
        | "backspace"
        | "interrupt"
        | "up"
        | "down"
        | "pageUp"
        | "pageDown"
        | "home"
        | "end";
    }
  | { readonly key: "text"; readonly text: string };

type Named = Exclude<Key["key"], "text">;

const ESCAPE = "\u001b";
/** By the sequences of xterm, which others follow. A terminal in application mode sends `O` in place of `[`. */
const NAMED: Readonly<Record<string, Named>> = {
  "\r": "enter",
  "\n": "enter",
  [ESCAPE]: "escape",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u0003": "interrupt",
  "[A": "up",
  "[B": "down",
  "[5~": "pageUp",
  "[6~": "pageDown",
  "[H": "home",
  "[1~": "home",
  "[F": "end",
  "[4~": "end",
};

/** A sequence of control, or one character. A terminal sends a sequence in one piece, so an escape at the end is the key. */
const PARTS = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z~]|O[A-Z])|[^]`, "gu");

/** The keys in a piece of input. Those that no command has are left out. */
export function keysOf(input: string): readonly Key[] {
  return [...input.matchAll(PARTS)].flatMap(([part]): readonly Key[] => {
    const isSequence = part.startsWith(ESCAPE) && part.length > 1;
    const name = isSequence ? `[${part.slice(2)}` : part;
    const key = Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
    if (key !== undefined) return [{ key }];
    return isSequence || /^\p{Cc}/u.test(part) ? [] : [{ key: "text", text: part }];
  });
}
