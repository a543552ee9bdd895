// Every entrance of the core refuses an option that it does not know, and says which one was meant: a misspelled option that is
// silently ignored is a default in production.

import {
  ConsumerGroup,
  type Context,
  consumer,
  defineServer,
  dispatch,
  dynamicSupervisor,
  partitionSupervisor,
  System,
  supervisor,
} from "signalbox";
import { batchBolt, sliding, tumbling, windowBolt } from "signalbox/topology";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let system: System;
beforeEach(() => {
  system = new System({ report: false });
});
afterEach(() => system.stop());

const Echo = defineServer({ init: () => ({}), calls: { echo: (_state, n: number) => n } });
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

/** An entrance, an unknown option, the one that was meant, and the call. Types would refuse each of them. */
const ENTRANCES: readonly (readonly [what: string, unknown: string, meant: string, call: () => unknown])[] = [
  ["ctx.receive", "timeout", "timeoutMs", () => within((ctx) => ctx.receive({ timeout: 5 } as never))],
  [
    "ctx.receive with a filter",
    "timout",
    "timeoutMs",
    () => within((ctx) => ctx.receive(() => true, { timout: 5 } as never)),
  ],
  [
    "ctx.receiveSignal",
    "timeout",
    "timeoutMs",
    () => within((ctx) => ctx.receiveSignal({ timeout: 5 } as never)),
  ],
  [
    "ctx.call",
    "timeout",
    "timeoutMs",
    () => within((ctx) => ctx.call(anyone(), () => 1, { timeout: 5 } as never)),
  ],
  ["system.call", "timeout", "timeoutMs", () => system.call(anyone(), () => 1, { timeout: 5 } as never)],
  ["handle.with", "timeout", "timeoutMs", () => Echo.at(system, "echo").with({ timeout: 5 } as never)],
  ["system.spawn", "trapExits", "trapExit", () => system.spawn(idle, { trapExits: true } as never)],
  ["ctx.spawn", "nam", "name", () => within((ctx) => ctx.spawn(idle, { nam: "a" } as never))],
  ["ctx.spawnLink", "lable", "label", () => within((ctx) => ctx.spawnLink(idle, { lable: "a" } as never))],
  [
    "ctx.spawnMonitor",
    "mailBox",
    "mailbox",
    () => within((ctx) => ctx.spawnMonitor(idle, { mailBox: {} } as never)),
  ],
  ["system.startWith", "timeout", "timeoutMs", () => system.startWith({ timeout: 5 } as never, Echo)],
  [
    "ctx.startWith",
    "timeout",
    "timeoutMs",
    () => within((ctx) => ctx.startWith({ timeout: 5 } as never, Echo)),
  ],
  ["new System", "limit", "limits", () => new System({ limit: {} } as never)],
  [
    "limits of a System",
    "callTimeout",
    "callTimeoutMs",
    () => new System({ limits: { callTimeout: 5 } } as never),
  ],
  ["system.stop", "timeout", "timeoutMs", () => system.stop({ timeout: 5 } as never)],
  ["supervisor", "period", "periodMs", () => supervisor({ period: 5 } as never)],
  [
    "a child of a supervisor",
    "shutdownMs",
    "shutdown",
    () => supervisor({ children: [{ ...child, shutdownMs: 5 } as never] }),
  ],
  ["dynamicSupervisor", "period", "periodMs", () => dynamicSupervisor({ child, period: 5 } as never)],
  [
    "partitionSupervisor",
    "partition",
    "partitions",
    () => partitionSupervisor({ child, partition: 4 } as never),
  ],
  ["ConsumerGroup", "deadline", "deadlineMs", () => new ConsumerGroup({ deadline: 5 } as never)],
  [
    "group.join",
    "maxInflght",
    "maxInFlight",
    () => new ConsumerGroup().join(anyone(), { maxInflght: 5 } as never),
  ],
  ["consumer", "concurency", "concurrency", () => consumer(() => 1, { concurency: 5 } as never)],
  [
    "system.dispatch",
    "deadline",
    "deadlineMs",
    () => system.dispatch(new ConsumerGroup(), 1, { deadline: 5 } as never),
  ],
  [
    "dispatch",
    "deadline",
    "deadlineMs",
    () => within((ctx) => dispatch(ctx as never, new ConsumerGroup(), 1, { deadline: 5 } as never)),
  ],
  ["system.envelope", "prio", "priority", () => system.envelope(1, { prio: 5 } as never)],
  ["tumbling", "lag", "lagMs", () => tumbling({ ms: 5, by: () => 1, lag: 5 } as never)],
  ["sliding", "everyms", "everyMs", () => sliding({ ms: 5, everyMs: 1, by: () => 1, everyms: 5 } as never)],
  [
    "windowBolt",
    "maxheld",
    "maxHeld",
    () => windowBolt({ input: {}, window: tumbling({ ms: 5 }), execute: () => 1, maxheld: 5 } as never),
  ],
  [
    "batchBolt",
    "every",
    "everyMs",
    () => batchBolt({ input: {}, size: 5, execute: () => 1, every: 5 } as never),
  ],
];

describe("an unknown option", () => {
  it.each(ENTRANCES)("of %s is refused: `%s` was `%s` [E10]", async (_what, unknown, meant, call) => {
    const error = await (async () => call())().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "ERR_OPTION" });
    expect((error as Error).message).toContain(unknown);
    expect((error as Error).message).toContain(`did you mean ${meant}`);
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
