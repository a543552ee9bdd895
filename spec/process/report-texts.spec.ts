// The texts of reports: bounded, harmless on a terminal, with the user's frames, and without the user's values.

import { pino } from "pino";
import {
  defineServer,
  defineStateMachine,
  formatReason,
  loggerReport,
  type Pid,
  type Report,
  refuse,
  System,
  startIn,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { userFrames } from "../../lib/process/own-code.js";
import { kindOf, show, showThrown } from "../../lib/process/show.js";
import { HOSTILE } from "../support/hostile.js";

const HUGE = "x".repeat(3_000_000);
/** Red, a title of the window, a line that goes back over itself, an 8-bit sequence, and text from right to left. */
const ESCAPES = "\u001b[31mred\u001b]0;title\u0007 over\rwritten \u009b2J \u202egnp.exe";
const CONTROL = /[\p{Cf}]|(?!\n)\p{Cc}/u;

let reports: Report[];
let system: System;
beforeEach(() => {
  reports = [];
  system = new System({ name: "shop", report: (_text, report) => void reports.push(report) });
});
afterEach(() => system.stop());

async function crashWith(error: unknown): Promise<Report> {
  system.spawn(() => {
    throw error;
  });
  await system.idle();
  return reports.at(-1) as Report;
}

describe("the text of a report", () => {
  it.each([
    ["a message", new Error(HUGE)],
    ["a name", Object.assign(new Error("short"), { name: HUGE })],
    ["a string that was thrown", HUGE],
    [
      "an error with much in it",
      Object.assign(new Error("short"), { body: HUGE, rows: Array(1e5).fill(HUGE) }),
    ],
    ["an error with many causes", deep(1_000)],
  ])("is bounded for %s of megabytes, and so is what a logger writes [R8]", async (_what, error) => {
    const lines: string[] = [];
    const sink = loggerReport(pino({}, { write: (line) => void lines.push(line) }));
    await using logged = new System({ report: sink });
    logged.spawn(() => {
      throw error;
    });
    await logged.idle();
    expect((await crashWith(error)).text.length).toBeLessThan(20_100);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.length).toBeLessThan(60_000);
  });

  it("has no character that a terminal obeys [R8]", async () => {
    const error = Object.assign(new Error(ESCAPES), { name: `Bad${ESCAPES}` });
    system.spawn(
      () => {
        throw error;
      },
      { label: `clerk${ESCAPES}` },
    );
    await system.idle();
    const texts = [reports.at(-1)?.text ?? "", (await crashWith(ESCAPES)).text];
    for (const text of texts) expect(text).not.toMatch(CONTROL);
    expect(texts[0]).toContain("gnp.exe");
  });

  it("shows the frames that are the user's, and leaves out the library's and Node's [R8]", async () => {
    system.spawn<string>({
      handle: (_ctx, text) => {
        throw new Error(text);
      },
    });
    system.send(system.processes().at(-1) as Pid<unknown>, "boom");
    await system.idle();
    const { text, error } = reports.at(-1) as Report;
    expect((error as Error).stack).toMatch(/\/lib\/(process|behaviour)\//);
    expect(text).toMatch(/report-texts\.spec\.ts:\d+:\d+/);
    expect(text).not.toMatch(/\/lib\/|node:internal/);
  });

  it("has the library's frames where there are no others", () => {
    const own = ["/srv/signalbox/lib/"];
    const stack = "Error: no\n    at f (/srv/signalbox/lib/a.ts:1:1)\n    at node:internal/timers:2:2";
    expect(userFrames(stack, own)).toHaveLength(2);
    const mixed = `${stack}\n    at bake (/srv/shop/oven.ts:3:3)`;
    expect(userFrames(mixed, own)).toEqual(["    at bake (/srv/shop/oven.ts:3:3)"]);
    expect(userFrames("run@/srv/signalbox/lib/a.ts:1:1\nbake@/srv/shop/oven.ts:3:3", own)).toEqual([
      "bake@/srv/shop/oven.ts:3:3",
    ]);
    expect(userFrames("Error: no stack", own)).toEqual([]);
  });

  it("reaches pino with the stack once, and the error as its class [R8]", async () => {
    class OvenError extends Error {
      override readonly name = "OvenError";
      readonly code = "E_OVEN";
      readonly oven = { id: 7, tray: ["tea", { n: 1 }] };
    }
    const lines: string[] = [];
    const logger = pino({}, { write: (line) => void lines.push(line) });
    await using logged = new System({ report: loggerReport(logger) });
    logged.spawn(() => {
      throw new OvenError("too hot", { cause: new RangeError("900 degrees") });
    });
    await logged.idle();
    const line = lines[0] as string;
    expect(line.match(/report-texts\.spec\.ts:/g)?.length).toBeGreaterThan(0);
    const { err, msg } = JSON.parse(line) as { err: Record<string, unknown>; msg: string };
    expect(msg).toMatch(/crash, OvenError: too hot$/);
    expect(err).toMatchObject({
      type: "OvenError",
      code: "E_OVEN",
      oven: { id: 7, tray: ["tea", { n: 1 }] },
    });
    expect(String(err.message)).toContain("900 degrees");
    expect(String(err.stack)).toContain("report-texts.spec.ts");
    expect(String(err.stack)).not.toMatch(/\/lib\/process\//);
  });

  it.each(HOSTILE)("is made, and logged, for %s [R8]", async (_what, value) => {
    const lines: string[] = [];
    const logger = pino({}, { write: (line) => void lines.push(line) });
    await using logged = new System({ report: loggerReport(logger) });
    logged.spawn(() => {
      throw value;
    });
    await logged.idle();
    expect(lines).toHaveLength(1);
  });

  it("cuts no character in two", () => {
    const faces = "😀".repeat(600);
    for (const text of [
      show(faces),
      show(`a${faces}`),
      showThrown(new Error(faces)),
      showThrown(new Error(`a${faces}`)),
    ])
      expect(!/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/.test(text)).toBe(true);
  });
});

/** An error in an error in an error. */
function deep(levels: number): Error {
  let error = new Error("deepest");
  for (let i = 0; i < levels; i++) error = new Error("x".repeat(10_000), { cause: error });
  return error;
}

describe("a user's value in an error of the library", () => {
  it.each([
    [undefined, "undefined"],
    [null, "null"],
    ["", "an empty string"],
    ["secret", "a string"],
    [7, "a number"],
    [7n, "a bigint"],
    [() => 1, "a function"],
    [{ secret: 1 }, "an object"],
    [Object.create(null), "an object"],
    [[1, 2], "an array of 2"],
    [[], "an empty array"],
    [new Map(), "a Map"],
    [new Error("secret"), "an Error"],
    [Promise.resolve(), "a Promise"],
  ])("%# is named by its kind", (value, kind) => {
    expect(kindOf(value)).toBe(kind);
  });

  it.each(HOSTILE)("is named by its kind, whatever it does: %s", (_what, value) => {
    expect(kindOf(value).length).toBeLessThan(100);
  });

  it("is not quoted where a handler returns what it may not [R9]", async () => {
    const secret = "4111-1111-1111-1111";
    const Server = defineServer({
      init: () => 0,
      casts: { keep: (_state: number) => refuse(new Error(secret)) as never },
    });
    const Machine = defineStateMachine<{ name: "idle" }, { type: "pay" | "odd" }>({
      init: startIn("idle", () => ({ name: "idle" })),
      states: {
        idle: {
          on: {
            pay: () => ({ card: secret }) as never,
            odd: (_state, _event, m) => m.keep({ card: secret } as never),
          },
        },
      },
    });
    const ends: string[] = [];
    system.events.on("exit", ({ reason }) => void ends.push(formatReason(reason)));
    const server = await system.start(Server);
    server.cast.keep();
    (await system.start(Machine)).send({ type: "pay" });
    (await system.start(Machine)).send({ type: "odd" });
    await system.idle();
    expect(ends.join("\n")).not.toContain(secret);
    expect(ends).toEqual([
      expect.stringContaining("returned a Refusal"),
      expect.stringContaining("returned an object"),
      expect.stringContaining("bad action, an object"),
    ]);
  });
});
