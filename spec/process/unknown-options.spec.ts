// Names and addresses that types cannot check: of children, of events, of processes.

import { type Context, System, supervisor } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let system: System;
beforeEach(() => {
  system = new System({ report: false });
});
afterEach(() => system.stop());

const idle = { handle: (): undefined => undefined };
const child = { id: "a", start: idle };

/** Runs code as a process, and gives what it threw or rejected with. */
function within(code: (ctx: Context<never>) => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    system.spawn<never>(async (ctx) => {
      try {
        await code(ctx as never);
      } catch (error) {
        reject(error);
        return;
      }
      resolve(undefined);
    });
  });
}
const anyone = (): never => system.spawn(idle) as never;

describe("an unknown option", () => {
  // Its type depends on the other children: spec/entrances finds all options whose types stand by themselves.
  it("of a child of a supervisor is refused [E10]", () => {
    expect(() => supervisor({ children: [{ ...child, shutdownMs: 5 } as never] })).toThrow(
      "did you mean shutdown",
    );
  });

  it("of an event is refused by its name [E10]", () => {
    for (const method of ["on", "once"] as const)
      expect(() => system.events[method]("cras" as never, () => undefined)).toThrow("did you mean crash");
  });
});

describe("a value that is no address", () => {
  it.each([undefined, null, 7, {}, Symbol("x")])(
    "%o is refused with an OptionError, wherever a process is meant [E11]",
    async (value) => {
      const wrong = value as never;
      const calls: readonly (() => unknown)[] = [
        () => system.send(wrong, 1 as never),
        () => system.call(wrong, () => 1),
        () => system.exit(wrong, "kill"),
        () => within((ctx) => ctx.send(wrong, 1 as never)),
        () => within((ctx) => ctx.link(wrong)),
        () => within((ctx) => ctx.unlink(wrong)),
        () => within((ctx) => ctx.monitor(wrong)),
        () => within((ctx) => ctx.demonitor(wrong)),
        () => system.register(wrong, anyone()),
      ];
      for (const call of calls) {
        const error = await (async () => call())().catch((thrown: unknown) => thrown);
        expect(`${call}: ${(error as { code?: string } | undefined)?.code}`).toBe(`${call}: ERR_OPTION`);
      }
    },
  );
});
