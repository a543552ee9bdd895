// Exit reasons: what may be given as one, what comes of it, and how it reads.

import {
  crash,
  custom,
  type ExitInput,
  type ExitReason,
  formatReason,
  isOrderly,
  KILL,
  NORMAL,
  OptionError,
  SHUTDOWN,
  shutdown,
  stop,
  ThrownValueError,
} from "signalbox";
import { describe, expect, it } from "vitest";
import { toReason } from "../../lib/process/reason.js";

describe("an exit reason", () => {
  it("may be given as one of three words", () => {
    expect(toReason("normal")).toBe(NORMAL);
    expect(toReason("shutdown")).toBe(SHUTDOWN);
    expect(toReason("kill")).toBe(KILL);
  });

  it("may be given as an Error, which makes a crash with the same Error object", () => {
    const error = new RangeError("too far");
    expect(toReason(error)).toEqual({ type: "crash", error });
    expect((toReason(error) as { error: Error }).error).toBe(error);
  });

  it("may be given as an Error that has a `type` of its own", () => {
    const error = Object.assign(new Error("odd"), { type: "normal" });
    expect(toReason(error)).toEqual({ type: "crash", error });
  });

  it("may be given as a reason, and stays the same object", () => {
    const reason = custom(7);
    expect(toReason(reason)).toBe(reason);
  });

  it.each([undefined, null, 7, "killed", "Normal", {}, { reason: "normal" }, () => "normal"])(
    "is not %s, and the error says which values are reasons",
    (input) => {
      expect(() => toReason(input as ExitInput)).toThrow(OptionError);
      expect(() => toReason(input as ExitInput)).toThrow(/^reason must be "normal", "shutdown", "kill"/);
    },
  );

  it("keeps a thrown value that is not an Error", () => {
    const reason = crash({ code: 7 }) as { error: Error };
    expect(reason.error).toBeInstanceOf(ThrownValueError);
    expect(reason.error.cause).toEqual({ code: 7 });
    expect(reason.error.message).toContain('{"code":7}');
  });

  it.each<[ExitReason["type"], boolean, ExitReason]>([
    ["normal", true, NORMAL],
    ["shutdown", true, shutdown("for repairs")],
    ["kill", false, KILL],
    ["killed", false, { type: "killed" }],
    ["noproc", false, { type: "noproc" }],
    ["noconnection", false, { type: "noconnection" }],
    ["crash", false, crash(new Error("boom"))],
    ["custom", false, custom("normal")],
  ])("`%s` is an orderly end: %s", (_type, orderly, reason) => {
    expect(isOrderly(reason)).toBe(orderly);
  });

  it.each<[string, ExitReason]>([
    ["normal", NORMAL],
    ["shutdown", SHUTDOWN],
    ['shutdown, "for repairs"', shutdown("for repairs")],
    ["shutdown, the disk is full", shutdown(new Error("the disk is full"))],
    ["killed", { type: "killed" }],
    ["crash, RangeError: too far", crash(new RangeError("too far"))],
    ['custom {"code":7}', custom({ code: 7 })],
    ["custom 7", custom(7)],
  ])("reads: %s", (text, reason) => {
    expect(formatReason(reason)).toBe(text);
  });

  it("is readable also when it holds values that JSON cannot show", () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    expect(formatReason(custom(loop))).toBe("custom a Object");
    expect(formatReason(custom(Symbol("x")))).toBe("custom Symbol(x)");
    expect(formatReason(custom(Object.create(null)))).toBe("custom {}");
  });

  it("of `stop()` is normal by default, and an invalid reason is refused at the call", () => {
    expect(stop().reason).toBe(NORMAL);
    expect(stop("shutdown").reason).toBe(SHUTDOWN);
    expect(() => stop("kaput" as ExitInput)).toThrow(OptionError);
  });
});
