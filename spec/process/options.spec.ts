// Options are checked at the boundary, and an error names the path, the value and what is allowed.

import { type MailboxLimits, OptionError, System, type SystemOptions } from "signalbox";
import { describe, expect, test } from "vitest";
import { count, delay, oneOf, text } from "../../lib/process/options.js";

function refused(act: () => unknown): { path: string; value: unknown; message: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof OptionError) return { path: error.path, value: error.value, message: error.message };
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a check", () => {
  test("returns an allowed value unchanged", () => {
    expect([
      delay("d", 0),
      delay("d", 1.5),
      delay("d", Number.POSITIVE_INFINITY, 0, true),
      delay("d", 1, 1),
    ]).toEqual([0, 1.5, Number.POSITIVE_INFINITY, 1]);
    expect([count("c", 1, 1), count("c", 7, 1), count("c", Number.POSITIVE_INFINITY, 1, true)]).toEqual([
      1,
      7,
      Number.POSITIVE_INFINITY,
    ]);
    expect(oneOf("o", "b", ["a", "b"])).toBe("b");
    expect(text("t", "x")).toBe("x");
  });

  test("of a duration refuses any other value", () => {
    for (const value of [
      -1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      "5",
      null,
      undefined,
      5n,
      {},
    ]) {
      expect(refused(() => delay("wait.ms", value))).toMatchObject({ path: "wait.ms", value });
    }
    expect(refused(() => delay("periodMs", 0.5, 1)).message).toBe(
      "periodMs must be a number of milliseconds, 1 or more; got 0.5",
    );
    expect(refused(() => delay("timeout", -3, 0, true)).message).toBe(
      "timeout must be a number of milliseconds, 0 or more (Infinity to wait forever); got -3",
    );
  });

  test("of a whole number refuses any other value", () => {
    for (const value of [0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "5", null, undefined]) {
      expect(refused(() => count("depth", value, 1))).toMatchObject({ path: "depth", value });
    }
    expect(refused(() => count("depth", 0, 1)).message).toBe(
      "depth must be a whole number, 1 or more; got 0",
    );
    expect(refused(() => count("depth", "5", 1, true)).message).toBe(
      'depth must be a whole number, 1 or more, or Infinity; got "5"',
    );
  });

  test("of a word lists the allowed words, and of a text demands that the text is not empty", () => {
    expect(refused(() => oneOf("policy", "c", ["a", "b"])).message).toBe(
      'policy must be one of "a", "b"; got "c"',
    );
    expect(refused(() => text("name", "")).message).toBe('name must be a text that is not empty; got ""');
    expect(refused(() => text("name", 5))).toMatchObject({ path: "name", value: 5 });
  });
});

describe("a system refuses", () => {
  const cases: readonly (readonly [string, unknown, unknown, string])[] = [
    ["name", { name: "" }, "", 'name must be a text that is not empty; got ""'],
    ["name", { name: 5 }, 5, "name must be a text that is not empty; got 5"],
    ["limits", { limits: null }, null, "limits must be an object of limits; got null"],
    ["limits", { limits: 5 }, 5, "limits must be an object of limits; got 5"],
    [
      "limits.callTimeoutMs",
      { limits: { callTimeoutMs: -1 } },
      -1,
      "callTimeoutMs must be a number of milliseconds, 0 or",
    ],
    [
      "limits.stopTimeoutMs",
      { limits: { stopTimeoutMs: Number.NaN } },
      Number.NaN,
      "0 or more (Infinity to wait",
    ],
    ["limits.highWater", { limits: { highWater: 0 } }, 0, "highWater must be a whole number, 1 or more"],
    [
      "limits.turnMessages",
      { limits: { turnMessages: 1.5 } },
      1.5,
      "turnMessages must be a whole number, 1 or more",
    ],
    ["limits.highWatter", { limits: { highWatter: 5 } }, 5, "must be absent: did you mean highWater?"],
    [
      "limits.toString",
      { limits: { toString: 5 } },
      5,
      "must be absent: there is only callTimeoutMs, startTimeoutMs,",
    ],
    [
      "report",
      { report: "console" },
      "console",
      'report must be a function that takes a text, { to, messages, redact }, or false; got "console"',
    ],
    [
      "report",
      { report: true },
      true,
      "report must be a function that takes a text, { to, messages, redact }, or false; got true",
    ],
    [
      "transport",
      { transport: {} },
      {},
      "transport must be remoteNodes(…) of an object with a method send(node, signal); got {}",
    ],
    [
      "transport",
      { transport: null },
      null,
      "transport must be remoteNodes(…) of an object with a method send(node, signal); got null",
    ],
    [
      "environment",
      { environment: {} },
      {},
      "environment must be an environment of signalbox, such as testClock().environment; got {}",
    ],
  ];

  for (const [path, options, value, message] of cases) {
    test(`${path} = ${String(value)}`, () => {
      const error = refused(() => new System(options as SystemOptions));
      expect(error).toMatchObject({ path, value });
      expect(error.message).toContain(message);
    });
  }

  test("no valid options: every limit may be set, and the durations may be infinite", async () => {
    const limits = {
      callTimeoutMs: Number.POSITIVE_INFINITY,
      stopTimeoutMs: 0,
      highWater: Number.POSITIVE_INFINITY,
    };
    await using system = new System({ name: "shop", limits, report: () => undefined });
    expect(system.name).toBe("shop");
  });
});

describe("a spawn, a timer and a name refuse", () => {
  test("invalid arguments, and have no effect then", async () => {
    await using system = new System({ report: false });
    const quiet = { handle: () => undefined };
    const spawn = (mailbox: unknown) => () => system.spawn(quiet, { mailbox: mailbox as MailboxLimits });
    expect(refused(spawn({ capacity: 0, overflow: "reject" }))).toMatchObject({
      path: "mailbox.capacity",
      value: 0,
    });
    expect(refused(spawn({ capacity: 5, overflow: "wait" })).message).toBe(
      'mailbox.overflow must be one of "reject", "drop-newest", "drop-oldest", "exit"; got "wait"',
    );
    expect(system.population).toBe(0);
    const pid = system.spawn<string>(quiet);
    expect(refused(() => system.sendAfter(pid, "x", Number.POSITIVE_INFINITY))).toMatchObject({
      path: "delayMs",
    });
    expect(refused(() => system.sendAfter(pid, "x", -1))).toMatchObject({ path: "delayMs", value: -1 });
    expect(refused(() => system.register("", pid))).toMatchObject({ path: "name" });
  });
});
