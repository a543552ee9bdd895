// Windows that were handed over, and what they have when they are handed over again.

import { describe, expect, test } from "vitest";
import { HandedOverWindows } from "../../../lib/topology/components/handed-over-windows.js";
import type { WindowView } from "../../../lib/topology/components/window-held.js";

/** A word, and the time of the try: `a2@5`. */
const windowsOf = (max = 100): HandedOverWindows<string> =>
  new HandedOverWindows({
    keepMs: 1_000,
    max,
    hashOf: (item) => (item.startsWith("?") ? undefined : item.charCodeAt(0)),
    timeOf: (item) => Number(item.split("@")[1]),
  });

const view = (start: number, items: string): WindowView<string> => {
  const tuples = items.split(" ").filter((item) => item !== "");
  return { tuples, added: tuples, removed: [], start, end: start + 10 };
};

const wholeOf = (windows: HandedOverWindows<string>, start: number, items: string, now = 0): string =>
  windows.whole(view(start, items), now).tuples.join(" ");

describe("a window that is handed over", () => {
  test("for the first time is as it is", () => {
    const windows = windowsOf();
    const first = view(0, "a@1 b@2");
    expect(windows.whole(first, 0)).toBe(first);
    windows.done(view(10, "c@12"), 0);
    expect(windows.whole(first, 0)).toBe(first);
  });

  test("again has what it had before, by time, and what came again in place of that [N1501]", () => {
    const windows = windowsOf();
    windows.done(view(0, "a@1 b@2 c@2 d@9"), 0);
    expect(wholeOf(windows, 0, "c2@2 e@5")).toBe("a@1 b@2 c2@2 e@5 d@9");
    const again = windows.whole(view(0, "c2@2 e@5"), 0);
    expect(again.added).toEqual(["c2@2", "e@5"]);
    windows.done(again, 10);
    expect(wholeOf(windows, 0, "d2@9")).toBe("a@1 b@2 c2@2 e@5 d2@9");
  });

  test("again has as many equal items as before at least [N1501]", () => {
    const windows = windowsOf();
    windows.done(view(0, "a@1 a@1 a@1"), 0);
    expect(wholeOf(windows, 0, "a2@1")).toBe("a@1 a@1 a2@1");
    expect(wholeOf(windows, 0, "a2@1 a3@1 a4@1 a5@1")).toBe("a2@1 a3@1 a4@1 a5@1");
  });

  test("keeps an item that nothing tells from others [N1501]", () => {
    const windows = windowsOf();
    windows.done(view(0, "?@1 a@2"), 0);
    expect(wholeOf(windows, 0, "?2@1 a2@2")).toBe("?@1 ?2@1 a2@2");
  });

  test("is kept for its time, which begins anew when it is handed over again [N1502]", () => {
    const windows = windowsOf();
    windows.done(view(0, "a@1"), 0);
    windows.done(view(10, "b@11"), 0);
    windows.done(view(0, "a2@1"), 600);
    windows.done(view(20, "c@21"), 1_001);
    expect(wholeOf(windows, 10, "x@15", 1_001)).toBe("x@15");
    windows.done(view(30, "d@31"), 1_600);
    expect(wholeOf(windows, 0, "x@5", 1_600)).toBe("a2@1 x@5");
    windows.done(view(40, "e@41"), 2_601);
    expect(wholeOf(windows, 0, "x@5", 2_601)).toBe("x@5");
  });

  test("is kept when the next time fails, too [N1502]", () => {
    const windows = windowsOf();
    windows.done(view(0, "a@1"), 0);
    windows.whole(view(0, "b@5"), 900);
    windows.done(view(10, "c@11"), 1_900);
    expect(wholeOf(windows, 0, "b2@5", 1_900)).toBe("a@1 b2@5");
  });

  test("is dropped early, the oldest first, when too many items are kept [N1502]", () => {
    const windows = windowsOf(3);
    windows.done(view(0, "a@1"), 0);
    windows.done(view(10, "b@11 c@12"), 0);
    windows.done(view(20, "d@21"), 0);
    expect([wholeOf(windows, 0, "x@5"), wholeOf(windows, 10, "x@15")]).toEqual(["x@5", "b@11 c@12 x@15"]);
    // A window that is too large takes all others with it.
    windows.done(view(30, "e@31 f@32 g@33 h@34"), 0);
    expect([wholeOf(windows, 20, "x@25"), wholeOf(windows, 30, "x@35")]).toEqual(["x@25", "x@35"]);
    windows.done(view(40, "i@41 j@42 k@43"), 0);
    expect(wholeOf(windows, 40, "x@45")).toBe("i@41 j@42 k@43 x@45");
  });
});
