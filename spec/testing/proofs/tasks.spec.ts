// Tasks, streams and registries under any schedule, beside crashes, kills and restarts: nothing outlives its owner, nothing is
// handed out twice, and no key belongs to an ended process.

import {
  type Context,
  KeyTakenError,
  type Pid,
  Registry,
  type RegistryEvent,
  type Signal,
  type System,
  supervisor,
  TaskExitedError,
  task,
  taskStream,
  taskSupervisor,
} from "signalbox";
import type { Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";

const labelled = (system: System, label: string): Pid[] =>
  system.processes().filter((pid) => pid.label === label);

/** Who has a key, as a customer that monitors the holders sees it. */
class Customer {
  complaint: string | undefined = undefined;
  readonly pid: Pid<"look">;
  private readonly watched = new Set<Pid>();

  constructor(sim: Simulation, system: System, registry: Registry<string>, keys: readonly string[]) {
    const look = (ctx: Context<"look">): void => {
      for (const key of keys) {
        const holder = registry.find(key)?.pid;
        if (holder === undefined || this.watched.has(holder)) continue;
        this.watched.add(holder);
        ctx.monitor(holder);
      }
    };
    const signal = (ctx: Context<"look">, { type, ...down }: Signal): void => {
      if (type !== "down" || !("pid" in down)) return;
      const kept = registry.keysOf(down.pid);
      if (kept.length > 0 || keys.some((key) => registry.find(key)?.pid === down.pid))
        this.complaint = `${down.pid} has ended, and still has ${kept}`;
      sim.sometimes(
        "an end is heard of while the key is free",
        keys.some((key) => registry.count(key) === 0),
      );
      look(ctx);
    };
    this.pid = system.spawn<"look">({ handle: look, signal }, { label: "customer" });
  }
}

/** What listeners were told agrees with what they could find: entries come and go by turns. */
function judge(events: readonly RegistryEvent<string>[]): string | undefined {
  const holders = new Map<string, Pid>();
  for (const { type, key, pid } of events) {
    const holder = holders.get(key);
    if (type === "registered") {
      if (holder !== undefined) return `${pid} registers ${key}, which ${holder} has`;
      holders.set(key, pid);
    } else {
      if (holder !== pid) return `${pid} gives back ${key}, which ${holder} has`;
      holders.delete(key);
    }
  }
  return undefined;
}

/** Supervised children with keys for names, and a stranger that wants one of the keys. */
async function registryBesideRestarts(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const registry = new Registry<string>(system, { name: "desks" });
  const events: RegistryEvent<string>[] = [];
  const keys = ["till", "door"];
  sim.calm();
  const listener = system.spawn<RegistryEvent<string>>(
    { handle: (_ctx, event) => void events.push(event) },
    { label: "listener" },
  );
  registry.listen(listener);
  const customer = new Customer(sim, system, registry, keys);
  sim.finally("no end is heard of while its key is taken", () => customer.complaint);
  sim.finally("entries come and go by turns", () => judge(events));
  sim.monitor.always(
    "whoever has a key is alive",
    () => registry.select(({ pid }) => !system.isAlive(pid)).length === 0,
  );
  const children = keys.map((key) => ({
    id: key,
    start: {
      handle: (ctx: Context<string>, message: string) => void (message === "fail" && ctx.exit("kill")),
    },
    name: registry.claim(key),
  }));
  await system.start(supervisor({ children, intensity: 20, report: false, label: "root" }));
  system.send(customer.pid, "look");
  sim.storm();
  const stranger = system.spawn(
    (ctx) => {
      try {
        registry.register(ctx, "till");
        sim.sometimes("a stranger gets the key", true);
      } catch (error) {
        if (!(error instanceof KeyTakenError)) throw error;
        sim.sometimes("a stranger is refused", true);
      }
    },
    { label: "stranger" },
  );
  for (const key of keys) system.send(registry.via(key) as Pid<string>, "fail");
  await system.exited(stranger);
  await sim.quiet();
}

/** Tasks without links, whose owner, supervisor and selves are struck. */
async function tasksBesideKills(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  sim.calm();
  const tasks = await system.start(taskSupervisor({ shutdownMs: 20, label: "tasks" }));
  sim.storm();
  const results: number[] = [0, 0, 0];
  system.spawn(
    async (ctx) => {
      const all = results.map((_, i) =>
        tasks.nolink(ctx, async (own) => (i === 0 ? i : void (await own.receive())), { label: "unlinked" }),
      );
      await Promise.all(
        all.map(async (one, i) => {
          const result = await one.result({ timeoutMs: 50 });
          results[i] = (results[i] as number) + 1;
          sim.sometimes("a task has a value", result.ok);
          sim.sometimes("a task is late", !result.ok && !(result.error instanceof TaskExitedError));
          sim.sometimes(
            "a task has ended without a value",
            !result.ok && result.error instanceof TaskExitedError,
          );
        }),
      );
    },
    { label: "owner" },
  );
  await sim.sleep(sim.oneOf([0, 30, 60], "until the stop"));
  system.exit(tasks.pid, "shutdown");
  await sim.sleep(100);
  await sim.quiet();
  sim.finally("no task outlives its supervisor", () =>
    labelled(system, "unlinked").length === 0 ? undefined : "a task is left",
  );
  sim.finally("each result comes once at most", () =>
    results.every((count) => count <= 1) ? undefined : `results came ${results} times`,
  );
}

/** Linked tasks: whatever ends, owner and tasks end together. */
async function linkedTasks(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  system.spawn(
    async (ctx) => {
      const one = task(ctx, (own) => own.receive(), { label: "linked" });
      const two = task(ctx, () => 2, { label: "linked" });
      sim.sometimes("a value arrives", (await two.value()) === 2);
      system.send(one.pid, "go on");
      await one.value();
      task(ctx, (own) => own.receive(), { label: "linked" });
    },
    { label: "owner" },
  );
  await sim.quiet();
  sim.finally("no task outlives its owner", () =>
    labelled(system, "owner").length > 0 || labelled(system, "linked").length === 0
      ? undefined
      : "a task is left",
  );
}

/** Items in order, and notes on how the input was used. */
class Items implements IterableIterator<number> {
  read = 0;
  returned = 0;
  isOver = false;
  readonly last: number;
  constructor(last: number) {
    this.last = last;
  }
  [Symbol.iterator](): this {
    return this;
  }
  next(): IteratorResult<number> {
    if (this.read < this.last) return { done: false, value: this.read++ };
    this.isOver = true;
    return { done: true, value: undefined };
  }
  return(): IteratorResult<number> {
    this.returned++;
    return { done: true, value: undefined };
  }
}

const CONCURRENCY = 2;

/** A stream whose consumer, process and tasks are struck. */
async function streamBesideCrashes(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const items = new Items(4);
  const ordered = sim.choose(2, "ordered") === 1;
  const seen: number[] = [];
  let taken = 0;
  let killed = false;
  system.events.on("exit", ({ pid, reason }) => {
    if (pid.label === "task stream" && reason.type !== "normal") killed = true;
  });
  const stopsAt = sim.oneOf([2, 9], "break after");
  system.spawn(
    async (ctx) => {
      const options = { concurrency: CONCURRENCY, ordered, failures: "values", label: "item" } as const;
      for await (const result of taskStream(ctx, items, async (item) => item, options)) {
        taken++;
        seen.push(result.index);
        if (seen.length === stopsAt) break;
      }
      sim.sometimes("the stream comes to its end", true);
    },
    { label: "owner" },
  );
  sim.monitor.always("no more tasks run than may", () => labelled(system, "item").length <= CONCURRENCY);
  sim.monitor.always(
    "the input is read as far as the consumer allows",
    () => items.read <= taken + 1 + CONCURRENCY,
  );
  await sim.quiet();
  sim.finally("nothing of the stream is left when its owner has ended", () =>
    labelled(system, "owner").length > 0 ||
    labelled(system, "item").length + labelled(system, "task stream").length === 0
      ? undefined
      : "something is left",
  );
  sim.finally("the input is closed once, unless it was over or its reader was killed", () => {
    if (items.returned > 1) return `return was called ${items.returned} times`;
    const isOpen = items.read > 0 && !items.isOver && !killed && labelled(system, "owner").length === 0;
    sim.sometimes("an open input is closed", isOpen && items.returned === 1);
    return isOpen && items.returned === 0 ? "it is left open" : undefined;
  });
  sim.finally("each result comes once, in order if asked for", () => {
    if (new Set(seen).size < seen.length) return `twice: ${seen}`;
    return ordered && seen.some((index, place) => index !== place) ? `out of order: ${seen}` : undefined;
  });
}

const DEATHS = {
  crash: [
    { of: "s/owner" },
    { of: "s/owner/task stream/item" },
    { of: "s/owner/task stream", reason: "kill" },
  ],
} as const;

describe("a registry, under any schedule", () => {
  it("has no ended process in it, beside crashes and restarts [B47]", async () => {
    await explored(registryBesideRestarts, {
      quick: 80,
      name: "registry beside restarts",
      faults: {
        crash: [{ of: "s/root/till" }, { of: "s/root/door", reason: "kill" }],
        delay: { of: "s/customer" },
      },
      sometimes: ["an end is heard of while the key is free", "a stranger is refused"],
    });
  });

  it("gives a key to one of two that want it, in every schedule [B46]", async () => {
    await exhausted(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const registry = new Registry<string>(system);
        const refused: string[] = [];
        for (const label of ["a", "b"]) {
          system.spawn<"go">(
            {
              handle: (ctx) => {
                try {
                  registry.register(ctx, "till");
                } catch {
                  refused.push(label);
                  sim.sometimes("the key is taken", true);
                }
                ctx.exit("normal");
              },
            },
            { label },
          );
        }
        for (const pid of system.processes()) system.send(pid, "go");
        sim.monitor.always("one has it at most", () => registry.count("till") <= 1);
        await sim.quiet();
        sim.finally("no key is left", () => (registry.size === 0 ? undefined : "a key is left"));
      },
      { name: "two and a key", faults: { crash: { of: "s/*" } } },
    );
  });
});

describe("tasks, under any schedule", () => {
  it("end with their supervisor, and hand out one result each, beside kills [B40]", async () => {
    await explored(tasksBesideKills, {
      quick: 80,
      name: "tasks beside kills",
      faults: { crash: [{ of: "s/owner" }, { of: "s/tasks/unlinked" }, { of: "s/tasks", reason: "kill" }] },
      sometimes: ["a task has a value", "a task is late", "a task has ended without a value"],
    });
  });

  it("that are linked end with their owner [B37]", async () => {
    await explored(linkedTasks, {
      quick: 80,
      name: "linked tasks",
      faults: { crash: [{ of: "s/owner" }, { of: "s/owner/linked", reason: "kill" }], start: { of: "**" } },
      sometimes: ["a value arrives"],
    });
  });
});

describe("streams of tasks, under any schedule", () => {
  it("leave nothing behind, keep their limits, and hand out each result once [B44]", async () => {
    await explored(streamBesideCrashes, {
      quick: 100,
      name: "stream beside crashes",
      faults: DEATHS,
      sometimes: ["the stream comes to its end", "an open input is closed"],
    });
  });
});
