// The facts about one thing, line by line: the name of a fact, and its text.

import { oneLine } from "../../process/printable.js";
import { whenText } from "./style.js";

/** A painted text is cleaned by its paint; others are cleaned here. */
export type Fact = readonly [name: string, text: string, paint?: (text: string) => string];

const NAME_WIDTH = 11;

/** A line for each fact that has a text. */
export function factLines(facts: readonly Fact[]): string[] {
  return facts
    .filter(([, text]) => text !== "")
    .map(([name, text, paint = oneLine]) => `${name.padEnd(NAME_WIDTH)}${paint(text)}`);
}

/** A moment, and how long ago that is. Empty: there is none. */
export function momentText(
  at: number | undefined,
  now: number,
  host: { iso(moment: number): string },
): string {
  return at === undefined ? "" : `${host.iso(at)} (${whenText(at, now)})`;
}
