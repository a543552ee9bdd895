// The keys that a terminal sends.

import { expect, test } from "vitest";
import { keysOf } from "../../../lib/cli/shell/keys.js";

test.each<[string, readonly string[]]>([
  ["qm/", ["q", "m", "/"]],
  ["\u001b[A\u001b[B\u001bOA", ["up", "down", "up"]],
  ["\u001b[5~\u001b[6~\u001b[H\u001b[F\u001b[1~", ["pageUp", "pageDown", "home", "end", "home"]],
  ["\u001b", ["escape"]],
  ["\r\u007f\u0003", ["enter", "backspace", "interrupt"]],
  ["é🚂", ["é", "🚂"]],
  // Keys without a meaning, and what a mouse would send.
  ["\u001b[24~\u001b[1;5C\u0001\t", []],
])("%j", (input, keys) => {
  expect(keysOf(input).map((one) => (one.key === "text" ? one.text : one.key))).toEqual(keys);
});
