// What `signalbox observe` asks of a running program.

import { expect, test } from "vitest";
import { RemoteOperationError } from "../../../lib/admin/errors.js";
import type { Json } from "../../../lib/admin/json-view.js";
import { OFFERS_OP } from "../../../lib/admin/protocol.js";
import type { Observed } from "../../../lib/cli/observe/observe.js";
import { openProgram } from "../../../lib/cli/observe/program-source.js";

const OPERATIONS = [
  { name: "system.overview", leave: "look" },
  { name: "system.top", leave: "look" },
  { name: "cancel", leave: "change" },
] as const;
const SHOP = { name: "shop", id: "shop-1" };

interface Asked {
  readonly op: string;
  readonly args: object;
  readonly changes: boolean | undefined;
  answer(value: Json): void;
  fail(error: Error): void;
}

/** A program that answers what it offers by itself, and the rest when the test says so. */
class Program {
  readonly asked: Asked[] = [];
  readonly timers: (() => void)[] = [];
  connections = 0;
  closed = 0;
  isThere = true;
  systems: { name: string; id: string }[] = [SHOP];
  stores: Record<string, string[]> | undefined;
  operations: readonly { name: string; leave: string }[] = OPERATIONS;

  open(system?: string): Promise<Observed> {
    return openProgram({ reach: () => this.#reach(), after: (_ms, fn) => this.#after(fn) }, system);
  }

  async #reach() {
    if (!this.isThere) throw new Error("the program does not listen any more");
    this.connections++;
    return {
      ask: (op: string, args: object, _signal?: AbortSignal, changes?: boolean): Promise<Json> =>
        op === OFFERS_OP
          ? Promise.resolve({
              ...{ operations: this.operations, systems: this.systems },
              ...(this.stores !== undefined && { stores: this.stores }),
            } as unknown as Json)
          : new Promise((answer, fail) => void this.asked.push({ op, args, changes, answer, fail })),
      close: () => void this.closed++,
    };
  }

  #after(fn: () => void): () => void {
    this.timers.push(fn);
    return () => {
      const at = this.timers.indexOf(fn);
      if (at >= 0) this.timers.splice(at, 1);
    };
  }
}

const { signal } = new AbortController();
const turns = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await Promise.resolve();
};

test("knows what the program offers, and which rights that needs [N1594]", async () => {
  const program = new Program();
  const source = await program.open();
  expect(source.names).toEqual(["system.overview", "system.top", "cancel"]);
  expect(source.systems).toEqual([SHOP]);
  expect(["system.top", "cancel", "nothing"].map((op) => source.leaveOf(op))).toEqual([
    "look",
    "change",
    undefined,
  ]);
  void source.look("cancel", { id: "a" }, signal);
  await turns();
  expect(program.asked).toMatchObject([{ op: "cancel", args: { id: "a" }, changes: true }]);
});

test("a request that takes long holds up no other one, and there are four connections at most [N1594]", async () => {
  const program = new Program();
  const source = await program.open();
  const looks = Array.from({ length: 10 }, (_, n) => source.look("system.top", { n }, signal));
  await turns();
  expect(program.connections).toBe(4);
  for (const [n, { answer }] of program.asked.entries()) answer(n);
  expect(await Promise.all(looks)).toHaveLength(10);
  await source.close();
  expect(program.closed).toBe(program.connections);
});

test("reaches a program anew that was started again [N1594]", async () => {
  const program = new Program();
  const source = await program.open();
  const lost = source.look("system.top", {}, signal);
  await turns();
  program.isThere = false;
  program.asked[0]?.fail(new RemoteOperationError("it closed the connection", { name: "Error" }, "kept"));
  await expect(lost).rejects.toThrow("closed the connection");
  await expect(source.look("system.top", {}, signal)).rejects.toThrow("does not listen any more");
  program.isThere = true;
  const found = source.look("system.top", {}, signal);
  await turns();
  program.asked[1]?.answer("again");
  expect(await found).toBe("again");
  expect(program.connections).toBe(2);
});

test("has the history kept while it is held, and learns what is offered meanwhile [N1594]", async () => {
  const program = new Program();
  const source = await program.open();
  const release = source.hold?.();
  await turns();
  expect(program.asked.map(({ op }) => op)).toEqual(["system.overview"]);
  program.asked[0]?.answer(null);
  await turns();
  program.operations = [...OPERATIONS, { name: "queues.list", leave: "look" }];
  program.timers.shift()?.();
  await turns();
  expect(source.names).toContain("queues.list");
  program.asked[1]?.answer(null);
  await turns();
  release?.();
  expect(program.timers).toEqual([]);
});

test("it names the stores of the hosts, which an earlier release does not [N1632]", async () => {
  const program = new Program();
  const earlier = await program.open();
  expect(earlier.stores).toBeUndefined();
  await earlier.close();
  program.stores = { flows: ["east", "west"] };
  const source = await program.open();
  expect(source.stores).toEqual({ flows: ["east", "west"] });
  await source.close();
});

test("operations on a system name it where several listen at a socket [N1594]", async () => {
  const program = new Program();
  program.systems = [SHOP, { name: "stock", id: "stock-1" }, { name: "stock", id: "stock-2" }];
  await expect(program.open()).rejects.toThrow("name one with --system: shop-1 (shop), stock-1 (stock)");
  await expect(program.open("bank")).rejects.toThrow('no system "bank" listens');
  for (const [wanted, sent] of [
    ["shop", "shop"],
    ["stock-2", "stock-2"],
  ] as const) {
    const source = await program.open(wanted);
    void source.look("system.top", {}, signal);
    void source.look("list", {}, signal);
    await turns();
    expect(program.asked.slice(-2).map(({ args }) => args)).toEqual([{ system: sent }, {}]);
    await source.close();
  }
});

test("a program of an earlier release is refused in words that help [N1594]", async () => {
  let closed = 0;
  const old = async () => ({
    ask: () => Promise.reject(new RemoteOperationError('there is no operation "operations"', { name: "E" })),
    close: () => void closed++,
  });
  await expect(openProgram({ reach: old, after: () => () => undefined }, undefined)).rejects.toThrow(
    "it runs an earlier release of signalbox",
  );
  expect(closed).toBe(1);
});
