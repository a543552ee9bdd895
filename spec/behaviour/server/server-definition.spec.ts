// A server's definition is checked when it is made.

import { defineServer, OptionError, type ServerOptions, System } from "signalbox";
import { describe, expect, it } from "vitest";

type Loose = { readonly [K in keyof ServerOptions<[], unknown, unknown, unknown>]?: unknown };

describe("a definition", () => {
  it.each<[Loose, string]>([
    [{ init: undefined }, "init"],
    [{ init: { left: 1 } }, "init"],
    [{ calls: "take" }, "calls"],
    [{ calls: null }, "calls"],
    [{ calls: { take: 3 } }, "calls.take"],
    [{ casts: { restock: undefined } }, "casts.restock"],
    [{ signals: { down: "log" } }, "signals.down"],
    [{ info: "log" }, "info"],
    [{ idle: 1 }, "idle"],
    [{ idleMs: 5 }, "idle"],
    [{ idle: () => undefined, idleMs: 0 }, "idleMs"],
    [{ idle: () => undefined, idleMs: "5" }, "idleMs"],
    [{ trapExit: 1 }, "trapExit"],
    [{ terminate: 1 }, "terminate"],
    [{ format: "left" }, "format"],
    [{ label: "" }, "label"],
  ])("with %j is refused at %s", (part, path) => {
    const options = { init: () => ({}), ...part } as ServerOptions<[], unknown, unknown, unknown>;
    const define = (): unknown => defineServer(options);
    expect(define).toThrow(OptionError);
    expect(define).toThrow(expect.objectContaining({ path, code: "ERR_OPTION" }));
  });

  it.each([
    [{ signals: 7 }, "signals must be an object of exit, down, group; got 7"],
    [{ casts: 7 }, "casts must be an object of functions; got 7"],
  ] as [Loose, string][])("with %j says which functions it may have", (part, text) => {
    const options = { init: () => ({}), ...part } as ServerOptions<[], unknown, unknown, unknown>;
    expect(() => defineServer(options)).toThrow(text);
  });

  it("does not change after its creation: changes to its parts afterwards affect no server", async () => {
    const calls: Record<string, () => string> = { who: () => "first" };
    const Server = defineServer({ init: () => ({}), calls });
    calls.who = () => "second";
    await using system = new System();
    expect(await (await system.start(Server)).call.who?.()).toBe("first");
  });

  it("may be started many times, each server with a state of its own", async () => {
    const Counter = defineServer({
      init: () => ({ count: 0 }),
      calls: { next: (state) => ++state.count },
    });
    await using system = new System();
    const [one, two] = [await system.start(Counter), await system.start(Counter)];
    expect([await one.call.next(), await one.call.next(), await two.call.next()]).toEqual([1, 2, 1]);
  });

  it("names its servers in pids and reports, by default `server`", async () => {
    await using system = new System({ name: "shop" });
    const plain = await system.start(defineServer({ init: () => ({}) }));
    const named = await system.start(defineServer({ init: () => ({}), label: "stock" }));
    expect([String(plain.pid), String(named.pid)]).toEqual(["<shop.1 server>", "<shop.2 stock>"]);
  });
});
