// The keys of the page.

import { expect, it, test } from "vitest";
import { decideKey, KEY_HELP, keysBegin, type Pressed } from "../../../lib/observer/client/model/keys.js";

const press = (key: string, more: Partial<Pressed> = {}): Pressed => ({
  key,
  isChord: false,
  isTyping: false,
  at: 0,
  ...more,
});
const commandOf = (key: string, more?: Partial<Pressed>): unknown =>
  decideKey(keysBegin, press(key, more))[1];

test.each([
  ["j", { type: "row", by: 1 }],
  ["k", { type: "row", by: -1 }],
  ["/", { type: "search" }],
  ["?", { type: "help" }],
  ["constructor", undefined],
  ["x", undefined],
])("%s", (key, command) => {
  expect(commandOf(key)).toEqual(command);
});

it("keys with Control, and text in a field, are no commands; Escape leaves the field", () => {
  expect(commandOf("j", { isChord: true })).toBeUndefined();
  expect(commandOf("j", { isTyping: true })).toBeUndefined();
  expect(commandOf("Escape", { isTyping: true })).toEqual({ type: "leave" });
});

it("g and a letter open a page, for a moment", () => {
  const [state, none] = decideKey(keysBegin, press("g", { at: 100 }));
  expect(none).toBeUndefined();
  expect(decideKey(state, press("j", { at: 1_600 }))).toEqual([keysBegin, { type: "page", letter: "j" }]);
  expect(decideKey(state, press("j", { at: 1_601 }))).toEqual([keysBegin, { type: "row", by: 1 }]);
  expect(decideKey(state, press("Escape", { at: 200 }))[1]).toEqual({ type: "leave" });
});

it("the help names every key", () => {
  const named = KEY_HELP.flatMap(([keys]) => keys.split(" ")).map((key) => (key === "Esc" ? "Escape" : key));
  for (const key of ["j", "k", "/", "?", "c", "p", "t", "Escape"]) expect(named).toContain(key);
});
