// The machine of `signalbox top`: keys, answers and sizes in, and what to ask and draw out.

import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import type { Key } from "../../../lib/cli/shell/keys.js";
import {
  decide,
  initial,
  roomOf,
  type TopEffect,
  type TopEvent,
  type TopState,
} from "../../../lib/cli/top/top-machine.js";
import { processOf, sampleOf } from "./samples.js";

const CONFIG = { by: "mailbox", find: "", limit: 200, intervalMs: 1_000, columns: 80, rows: 24 } as const;
const MANY = sampleOf(Array.from({ length: 100 }, (_, n) => processOf(n)));

const text = (letter: string): TopEvent => ({ type: "pressed", key: { key: "text", text: letter } });
const press = (key: Exclude<Key["key"], "text">): TopEvent => ({ type: "pressed", key: { key } });
const answer: TopEvent = { type: "answered", sample: MANY };

/** The state and the effects of the last of these events. */
function led(...events: readonly TopEvent[]): readonly [TopState, readonly TopEffect[]] {
  let found: readonly [TopState, readonly TopEffect[]] = [initial(CONFIG), []];
  for (const event of events) found = decide(found[0], event);
  return found;
}
const shown = led({ type: "begun" }, answer);

describe("a key", () => {
  test.each([
    ["m", "mailbox"],
    ["g", "growth"],
    ["h", "handled"],
    ["b", "busy"],
    ["a", "age"],
  ])("%s orders by %s, and asks at once [N1590]", (letter, by) => {
    const [, effects] = decide(shown[0], text(letter));
    expect(effects).toEqual([{ type: "ask", question: { by, find: "", limit: 200 } }, { type: "draw" }]);
  });

  test("/ begins a search, which enter asks and escape leaves [N1590]", () => {
    const typing = [answer, text("/"), text("t"), text("x"), press("backspace"), text("i")];
    const [state, effects] = led(...typing, press("enter"));
    expect(state.typed).toBeUndefined();
    expect(effects[0]).toEqual({ type: "ask", question: { by: "mailbox", find: "ti", limit: 200 } });
    expect(led(...typing, press("escape"))[0]).toMatchObject({ typed: undefined, question: { find: "" } });
    // In a search, letters are letters.
    expect(led(...typing, text("q"))).toMatchObject([{ typed: "tiq" }, [{ type: "draw" }]]);
  });

  test("escape shows all processes again [N1590]", () => {
    const found = led(answer, text("/"), text("t"), press("enter"), answer);
    expect(decide(found[0], press("escape"))[1][0]).toMatchObject({ type: "ask", question: { find: "" } });
  });

  test("space holds the picture, and lets it go [N1590]", () => {
    const held = led(answer, text(" "));
    expect(held[0].isHeld).toBe(true);
    expect(decide(held[0], { type: "due" })[1]).toEqual([]);
    expect(decide(held[0], text(" "))[1][0]).toMatchObject({ type: "ask" });
  });

  test.each([text("q"), press("interrupt")])("q and Ctrl-C end it [N1590]", (event) => {
    expect(decide(shown[0], event)[1]).toEqual([{ type: "end" }]);
    expect(led(answer, text("/"), press("interrupt"))[1]).toEqual([{ type: "end" }]);
  });

  test("arrows and pages move within the list [N1590]", () => {
    const room = roomOf(CONFIG);
    expect(led(answer, press("down"), press("down"), press("up"))[0].first).toBe(1);
    expect(led(answer, press("pageDown"))[0].first).toBe(room);
    expect(led(answer, press("end"))[0].first).toBe(100 - room);
    expect(led(answer, press("end"), press("home"), press("up"))[0].first).toBe(0);
  });
});

test("asks again when the interval has passed, and says why there is no answer [N1590]", () => {
  expect(shown[1]).toEqual([{ type: "draw" }, { type: "later", ms: 1_000 }]);
  const failed = decide(decide(shown[0], { type: "due" })[0], { type: "failed", problem: "it is gone" });
  expect(failed[0]).toMatchObject({ problem: "it is gone", sample: MANY });
  expect(failed[1]).toContainEqual({ type: "later", ms: 1_000 });
  expect(decide(failed[0], answer)[0].problem).toBeUndefined();
});

const EVENT: fc.Arbitrary<TopEvent> = fc.oneof(
  fc.constant<TopEvent>({ type: "due" }),
  fc.nat(60).map(
    (n): TopEvent => ({
      type: "answered",
      sample: sampleOf(Array.from({ length: n }, (_, i) => processOf(i))),
    }),
  ),
  fc.constant<TopEvent>({ type: "failed", problem: "gone" }),
  fc.record({ type: fc.constant("resized" as const), columns: fc.nat(200), rows: fc.nat(60) }),
  fc.constantFrom("m", "g", "/", " ", "x").map(text),
  fc
    .constantFrom("up", "down", "end", "pageDown", "enter", "escape", "backspace")
    .map((key) => press(key as never)),
);

property.prop([fc.array(EVENT, { maxLength: 60 })])(
  "one question is on its way at a time, and the list never ends above its window [N1590]",
  (events) => {
    let [state, effects] = decide(initial(CONFIG), { type: "begun" });
    let asked = effects.filter(({ type }) => type === "ask").length;
    for (const event of events) {
      if (event.type === "answered" || event.type === "failed") {
        if (asked === 0) continue;
        asked--;
      }
      [state, effects] = decide(state, event);
      asked += effects.filter(({ type }) => type === "ask").length;
      expect(asked).toBeLessThanOrEqual(1);
      expect(state.isAsking).toBe(asked === 1);
      // A picture that nobody holds is renewed: by an answer, or by a timer.
      if (asked === 0 && (event.type === "answered" || event.type === "failed") && !state.isHeld)
        expect(effects.some(({ type }) => type === "later")).toBe(true);
      expect(state.first).toBeGreaterThanOrEqual(0);
      const { length } = state.sample?.top.processes ?? [];
      expect(state.first).toBeLessThanOrEqual(Math.max(0, (length ?? 0) - roomOf(state)));
    }
  },
);
