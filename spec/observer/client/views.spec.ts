// A live view is the last whole value with all changes since, or its stream begins again.

import { describe, expect, it } from "vitest";
import {
  decideView,
  feedEvent,
  viewAgain,
  viewBegin,
  viewKey,
} from "../../../lib/observer/client/model/views.js";
import { difference, type Patch } from "../../../lib/observer/feed/difference.js";

const before = { at: 1, processes: [{ pid: "a.1", handled: 3 }] };
const after = {
  at: 2,
  processes: [
    { pid: "a.2", handled: 0 },
    { pid: "a.1", handled: 9 },
  ],
};
const patch = difference(before, after) as Patch;
const whole = decideView(viewBegin, { type: "whole", key: "k", revision: 4, value: before });

describe("a live view", () => {
  it("has the value after the changes, and applies no change of another revision [N1582]", () => {
    if (whole === undefined) throw new Error("a whole value fits always");
    expect(decideView(whole, { type: "change", key: "k", from: 4, revision: 5, patch })).toEqual({
      value: after,
      revision: 5,
    });
    for (const from of [3, 5])
      expect(decideView(whole, { type: "change", key: "k", from, revision: 6, patch })).toBeUndefined();
    // The next stream begins with whole values.
    expect(
      decideView(viewAgain(whole), { type: "change", key: "k", from: 4, revision: 5, patch }),
    ).toBeUndefined();
    expect(decideView(viewBegin, { type: "change", key: "k", from: 4, revision: 5, patch })).toBeUndefined();
  });

  it("keeps its value beside an error, and when the server starts it anew", () => {
    const error = { name: "NoProcessError", message: "there is no process a.1", code: "ERR_NO_PROCESS" };
    const failed = decideView(whole ?? viewBegin, { type: "fault", key: "k", error });
    expect(failed).toEqual({ value: before, revision: 4, error });
    expect(decideView(failed ?? viewBegin, { type: "reset", key: "k" })).toEqual({
      value: before,
      revision: undefined,
      error,
    });
    expect(decideView(failed ?? viewBegin, { type: "whole", key: "k", revision: 1, value: after })).toEqual({
      value: after,
      revision: 1,
    });
  });
});

it("an event of a later version is left out", () => {
  expect(feedEvent("whole", '{"key":"k","revision":1,"value":[]}')).toEqual({
    type: "whole",
    key: "k",
    revision: 1,
    value: [],
  });
  expect(feedEvent("novelty", "{}")).toBeUndefined();
});

it("a question has one key", () => {
  expect(viewKey("system.top", { by: "mailbox", limit: 5 })).toBe(
    viewKey("system.top", { limit: 5, by: "mailbox", find: undefined }),
  );
  expect(viewKey("system.top", {})).not.toBe(viewKey("system.top", { limit: 5 }));
});
