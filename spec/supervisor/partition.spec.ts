// Partition supervisors: which partition a key belongs to, and who runs that partition.

import fc from "fast-check";
import {
  type Context,
  defineServer,
  PARTITION_DEFAULTS,
  type PartitionSupervisorRef,
  partitionSupervisor,
  type ReplyTo,
  System,
  supervisor,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { partitionOf } from "../../lib/supervisor/partition-table.js";
import { testClock } from "../../lib/testing/kit/clock.js";

let system: System;
beforeEach(() => {
  system = new System({ name: "shop", environment: testClock().environment, report: false });
});
afterEach(() => system.stop());

const Counter = defineServer({
  init: (_ctx, from: number) => ({ count: from }),
  calls: { add: (state, n: number) => (state.count += n) },
  casts: {
    crash: () => {
      throw new Error("no paper");
    },
  },
});

const four = (): Promise<PartitionSupervisorRef<typeof Counter>> =>
  system.start(partitionSupervisor({ partitions: 4, child: { start: Counter, args: [0] } }));

describe("the partition of a key", () => {
  it("is |k| mod n of an integer, and the same in every run for a text [B51]", () => {
    expect([0, 1, 5, -5, 4, 7n, -6n].map((key) => partitionOf(key, 4))).toEqual([0, 1, 1, 1, 0, 3, 2]);
    // Recorded: a change would move the keys of every user.
    expect(["", "a", "b", "user-17", "user-18", "ключ", "1"].map((key) => partitionOf(key, 16))).toEqual(
      RECORDED,
    );
    expect(partitionOf(0.5, 16)).toBe(partitionOf("0.5", 16));
  });

  it("is one of them, for any key", () => {
    const key = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.bigInt(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    );
    fc.assert(
      fc.property(key, fc.integer({ min: 1, max: 1_000 }), (one, partitions) => {
        const partition = partitionOf(one, partitions);
        return Number.isInteger(partition) && partition >= 0 && partition < partitions;
      }),
    );
  });

  it("spreads texts that are alike evenly", () => {
    const counts = new Array<number>(8).fill(0);
    for (let i = 0; i < 8_000; i++) {
      const partition = partitionOf(`user-${i}`, 8);
      counts[partition] = (counts[partition] as number) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(850);
    expect(Math.max(...counts)).toBeLessThan(1_150);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, null, {}, Symbol("s")])(
    "is refused of %s",
    (key) => {
      expect(() => partitionOf(key as never, 4)).toThrow(
        expect.objectContaining({ code: "ERR_OPTION", path: "key" }),
      );
    },
  );
});

describe("a partition supervisor", () => {
  it("runs one child for each partition, with arguments of its own if wanted", async () => {
    const counters = await system.start(
      partitionSupervisor({ child: { start: Counter, args: (partition) => [partition * 10] } }),
    );
    expect(counters.partitions).toBe(PARTITION_DEFAULTS.partitions);
    expect((await counters.whichChildren()).map(({ id }) => id).reverse()).toEqual(
      Array.from({ length: PARTITION_DEFAULTS.partitions }, (_, i) => String(i)),
    );
    expect(await Promise.all(counters.all().map((counter) => counter.call.add(1)))).toEqual([
      1, 11, 21, 31, 41, 51, 61, 71,
    ]);
  });

  it("gives the handle of a key, with the type of its child's [B52]", async () => {
    const counters = await four();
    expect(counters.for("ada")).toBe(counters.for("ada"));
    expect(counters.for(1)).toBe(counters.for(5));
    const added = counters.for(1).call.add(2);
    expectTypeOf(added).toEqualTypeOf<Promise<number>>();
    expect([await added, await counters.for(-5).call.add(3), await counters.for(2).call.add(1)]).toEqual([
      2, 5, 1,
    ]);
  });

  it("restarts a partition that fails alone, and its handle goes on with the new child [B52]", async () => {
    const counters = await four();
    const [one, two] = [counters.for(1), counters.for(2)];
    await one.call.add(5);
    await two.call.add(5);
    one.cast.crash();
    await expect(one.call.add(1)).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED" });
    await system.idle();
    expect([await one.call.add(1), await two.call.add(1)]).toEqual([1, 6]);
  });

  it("is found by name after its own restart", async () => {
    const Counters = partitionSupervisor({
      partitions: 2,
      name: "counters",
      intensity: 0,
      child: { start: Counter, args: [0] },
    });
    const child = { id: "counters", start: Counters } as const;
    await system.start(supervisor({ children: [child], report: false }));
    const counters = Counters.at(system, "counters");
    const before = counters.pid;
    const one = counters.for(1);
    expect(await one.call.add(5)).toBe(5);
    one.cast.crash();
    await system.idle();
    expect(counters.pid).not.toBe(before);
    expect(await one.call.add(1)).toBe(1);
  });

  it("has addresses for children that are plain processes", async () => {
    type Ask = { readonly replyTo: ReplyTo<string> };
    const echo = {
      handle: (ctx: Context<Ask>, { replyTo }: Ask) => ctx.reply(replyTo, String(ctx.self)),
    };
    const echoes = await system.start(partitionSupervisor({ partitions: 2, child: { start: echo } }));
    const ask = (key: number) => system.call(echoes.for(key), (replyTo: ReplyTo<string>) => ({ replyTo }));
    const [zero, one] = [await ask(0), await ask(1)];
    expect(zero).not.toBe(one);
    expect(String(echoes.for(1))).toBe(`${echoes.pid}/1`);
    system.exit(echoes.for(1), "kill");
    await system.idle();
    expect([await ask(0), (await ask(1)) === one]).toEqual([zero, false]);
  });

  it("ends with its partitions, and its handles then find no process", async () => {
    const counters = await four();
    const one = counters.for(1);
    system.exit(counters.pid, "shutdown");
    await system.idle();
    expect(system.population).toBe(0);
    await expect(one.call.add(1)).rejects.toMatchObject({ reason: { type: "noproc" } });
  });

  it("under a flood of one partition gives the others their turns [B53]", async () => {
    const handled = [0, 0];
    const worker = {
      handle: (_ctx: Context<number>, partition: number) => void (handled[partition] as number)++,
    };
    const seen: number[] = [];
    const workers = await system.start(partitionSupervisor({ partitions: 2, child: { start: worker } }));
    for (let i = 0; i < 5_000; i++) system.send(workers.for(0), 0);
    system.send(workers.for(1), 1);
    system.spawn(async (ctx) => {
      while (handled[1] === 0) {
        system.send(ctx.self, "again" as never);
        await ctx.receive();
      }
      seen.push(handled[0] as number);
    });
    await system.idle();
    expect(handled).toEqual([5_000, 1]);
    // At most a few activations of the flooded one came before.
    expect(seen[0]).toBeLessThanOrEqual(3 * system.kernel.limits.activationMessages);
  });
});

describe("bad input", () => {
  const child = { start: Counter, args: [0] } as const;
  it.each([
    ["no partitions", { partitions: 0, child }, "partitions"],
    ["half a partition", { partitions: 1.5, child }, "partitions"],
    ["no child", {}, "child"],
    ["a child without code", { child: { args: [] } }, "child(0).start"],
    ["arguments that are none", { child: { start: Counter, args: 7 } }, "child(0).args"],
    ["a limit that is none", { child, intensity: -1 }, "intensity"],
  ])("%s is an OptionError", (_what, options, path) => {
    expect(() => partitionSupervisor(options as never)).toThrow(
      expect.objectContaining({ code: "ERR_OPTION", path }),
    );
  });
});

/** Of the first version. */
const RECORDED: readonly number[] = [11, 3, 2, 9, 15, 8, 15];
