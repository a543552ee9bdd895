// Messages of an execution that people move to another route, or give up.

import { expect, test } from "vitest";
import { moveArgs, movedText, moveRefusal } from "../../../lib/observer/client/model/moves.js";

test("only messages that wait in a queue are moved or given up, and others say why not [N1637]", () => {
  expect((["ready", "delayed"] as const).map(moveRefusal)).toEqual([undefined, undefined]);
  expect(moveRefusal("dead")).toContain("dead letter");
  for (const status of ["completed", "cancelled", "dropped", "forgotten"] as const)
    expect(moveRefusal(status)).toBe("It is in no queue any more.");
});

test.each([
  ["one message", { to: "b", reason: "r" }, "1.2", { id: "e", messages: ["1.2"], to: "b", reason: "r" }],
  ["a queue", { queue: "lines", to: "b" }, undefined, { id: "e", queues: ["lines"], to: "b" }],
  ["what no route takes", { to: "b" }, undefined, { id: "e", to: "b" }],
])("a move of %s names it and nothing else [N1637]", (_of, values, message, args) => {
  expect(moveArgs("e", values, message)).toEqual(args);
});

test("a move says how many messages it has moved, and whether there may be more", () => {
  expect(movedText("moved", { messages: 1, more: false })).toBe("1 message moved.");
  expect(movedText("given up", { messages: 10_000, more: true })).toBe(
    "10,000 messages given up; there may be more.",
  );
});
