// Names under any schedule: each name belongs to one process at most, never to an ended one. A name is free before any
// process is notified of its holder's end, so that a restart never finds the name taken.

import { type Context, type Monitor, NameTakenError, type Pid, type Signal, type System } from "signalbox";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";
import { Heirs, type Wish } from "./support-heirs.js";
import { judgeNames, NAME_STATES, type NameDeed } from "./support-names.js";
import { type Branch, Chronicle, type Command, drawCharter, type Leaf } from "./support-tree.js";

const NAMES = ["till", "desk"] as const;

function drawWish(sim: Simulation): Wish {
  const wish = sim.oneOf<Wish["wish"]>(["take", "take", "child", "look", "give back", "stop"], "wish");
  return wish === "give back" || wish === "stop" ? { wish } : { wish, name: sim.oneOf(NAMES, "name") };
}

function verdictOn(sim: Simulation, heirs: Heirs): string | undefined {
  const { complaint, states } = judgeNames(heirs.history);
  for (const state of states) sim.sometimes(state);
  return complaint;
}

/** Three processes that contend for two names, and are notified of each other's ends. */
async function contention(sim: Simulation): Promise<void> {
  const heirs = new Heirs(sim, sim.system({ name: "heirs" }), NAMES);
  sim.finally("each name has the holder that the history gives it", () => verdictOn(sim, heirs));
  for (let i = 0; i < 3; i++) heirs.enter(sim.choose(2, "inherits") === 1);
  for (let i = 0; i < 3; i++) heirs.watch(i);
  for (let i = 0; i < 6; i++) heirs.wish(sim.choose(3, "who"), drawWish(sim));
  await sim.quiet();
}

/** Monitors processes by name, and checks at each DOWN whether the ended process still has the name. */
class Customer {
  complaint: string | undefined = undefined;
  readonly pid: Pid<"look">;
  private readonly sim: Simulation;
  private readonly names: readonly string[];
  private readonly watched = new Map<Monitor, string>();

  constructor(sim: Simulation, system: System, names: readonly string[]) {
    this.sim = sim;
    this.names = names;
    this.pid = system.spawn<"look">(
      { handle: (ctx) => this.look(ctx), signal: (ctx, signal) => this.hear(ctx, signal) },
      { label: "customer" },
    );
  }

  private look(ctx: Context<"look">): void {
    const watched = [...this.watched.values()];
    for (const name of this.names) {
      if (!watched.includes(name) && ctx.whereis(name) !== undefined)
        this.watched.set(ctx.monitor(name), name);
    }
  }

  private hear(ctx: Context<"look">, signal: Signal): void {
    if (signal.type !== "down") return;
    const name = this.watched.get(signal.ref) as string;
    this.watched.delete(signal.ref);
    const holder = ctx.whereis(name);
    if (holder === signal.pid)
      this.complaint = `${name} is still the name of ${signal.pid}, whose end is heard of`;
    this.sim.sometimes("the end is heard of before the restart", holder === undefined);
    this.sim.sometimes("the end is heard of after the restart", holder !== undefined);
    this.look(ctx);
  }
}

/** A supervisor whose children have names, and a process that monitors them by these names. */
async function shop(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const chronicle = new Chronicle(sim, system, { named: true });
  const ids = ["till", "desk", "door"];
  const child = (id: string): Leaf => {
    return {
      id,
      restart: "permanent",
      kind: sim.oneOf<Leaf["kind"]>(["prompt", "slow to start", "slow to stop"]),
    };
  };
  const root: Branch = {
    id: "root",
    restart: "permanent",
    ...drawCharter(sim),
    intensity: 20,
    children: ids.map(child),
  };
  const customer = new Customer(sim, system, ids);
  sim.finally("no process is notified of an end while the name is still taken", () => customer.complaint);
  sim.finally("no restart fails because of a name", () => chronicle.judge(sim, true));
  const running = new Map<string, Pid>();
  system.events.on("spawn", ({ pid }) => running.set(pid.label ?? "", pid));
  system.events.on("exit", ({ pid }) => running.delete(pid.label ?? ""));
  sim.monitor.always("a child that runs has its name, and no other process has it", () =>
    ids.every((id) => system.whereis(id) === running.get(id)),
  );
  sim.calm();
  await system.start(chronicle.define(root));
  sim.storm();
  for (let i = 0; i < 2; i++) {
    system.send(customer.pid, "look");
    system.send(sim.oneOf(["till", "desk", "door"]), sim.oneOf<Command>(["fail", "leave"]));
    await sim.sleep(sim.oneOf([0, 5, 20], "wait"));
  }
  await sim.quiet();
  sim.calm();
  await sim.sleep(1_000);
  for (const id of ids) expect(system.whereis(id)?.label).toBe(id);
}

describe("names, under any schedule", () => {
  it("belong to one process at most, and never to an ended one [S6]", async () => {
    await explored(contention, {
      quick: 120,
      name: "contention",
      faults: {
        crash: { of: "heirs/p*", atMost: 2 },
        start: { of: "heirs/p*" },
        pause: { of: "heirs/p*" },
        delay: { of: "heirs/p*", atMost: 2 },
      },
      sometimes: NAME_STATES,
    });
  });

  it("are free for a restart, however soon, and before any process is notified of the end [S6]", async () => {
    await explored(shop, {
      quick: 100,
      name: "shop",
      faults: {
        crash: { of: "s/root/*", atMost: 3 },
        start: { of: "s/root/*" },
        pause: { of: "**", forMs: [1, 20] },
      },
      sometimes: [
        "a crash during a restart",
        "a restart fails and is tried again",
        "the end is heard of before the restart",
        "the end is heard of after the restart",
      ],
    });
  });

  // The simulator once took a process whose spawn was refused for one that lives, and crashed it.
  it("that are taken make a spawn fail, which leaves nothing behind", async () => {
    await exhausted(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const idle = { handle: () => undefined };
        system.spawn(idle, { name: "till" });
        sim.system({ name: "other" }).spawn(idle, { label: "victim" });
        expect(() => system.spawn(idle, { label: "refused", name: "till" })).toThrow(NameTakenError);
        await sim.quiet();
        expect(system.population).toBe(1);
        expect(system.processes()).toHaveLength(1);
      },
      { name: "refused", faults: { crash: { of: ["s/refused", "other/victim"] } } },
    );
  });
});

describe("in every schedule", () => {
  it("a name that is released, inherited and requested by a child belongs to one process at a time [S6]", async () => {
    await exhausted(
      async (sim) => {
        const heirs = new Heirs(sim, sim.system({ name: "heirs" }), ["till"]);
        sim.finally("each name has the holder that the history gives it", () => verdictOn(sim, heirs));
        for (const inherits of [false, true, true]) heirs.enter(inherits);
        heirs.watch(1);
        heirs.watch(2);
        heirs.wish(0, { wish: "take", name: "till" });
        heirs.wish(1, { wish: "child", name: "till" });
        heirs.wish(0, { wish: "give back" });
        await sim.quiet();
      },
      {
        name: "inheritance",
        quick: { preemptions: 1 },
        faults: { crash: { of: "heirs/p*" } },
        sometimes: NAME_STATES.filter((state) => state !== "a second name is refused"),
      },
    );
  });

  it("a child has its name again after a crash, in every order of notifications [S6]", async () => {
    await exhausted(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const chronicle = new Chronicle(sim, system, { named: true });
        const children: Leaf[] = [{ id: "till", restart: "permanent", kind: "prompt" }];
        const plain = {
          restart: "permanent",
          strategy: "one_for_one",
          intensity: 20,
          periodMs: 1_000,
        } as const;
        const customer = new Customer(sim, system, ["till"]);
        sim.finally(
          "no process is notified of an end while the name is still taken",
          () => customer.complaint,
        );
        sim.finally("no restart fails because of a name", () => chronicle.judge(sim, true));
        sim.finally("the till is open", () => system.whereis("till") !== undefined);
        sim.calm();
        await system.start(chronicle.define({ id: "root", ...plain, children }));
        sim.storm();
        system.send(customer.pid, "look");
        system.send("till", "fail");
        system.send(customer.pid, "look");
        await sim.quiet();
      },
      {
        name: "one till",
        quick: { preemptions: 0 },
        faults: { crash: { of: "s/root/*", atMost: 2 } },
        sometimes: ["the end is heard of before the restart", "the end is heard of after the restart"],
      },
    );
  });
});

const TAKEN: NameDeed = { deed: "take", who: 0, name: "till", refused: false };
const FREE: NameDeed = { deed: "look", name: "till", found: undefined };
const HELD: NameDeed = { deed: "look", name: "till", found: 0 };
const ENDED: NameDeed = { deed: "end", who: 0 };

describe("the model of names", () => {
  it.each<[string, readonly NameDeed[]]>([
    [
      "a name that is taken, given back and taken by another",
      [FREE, TAKEN, HELD, { deed: "give back", who: 0 }, FREE, { ...TAKEN, who: 1 }],
    ],
    ["an heir", [TAKEN, HELD, ENDED, FREE, { deed: "hear", who: 1, of: 0 }, { ...TAKEN, who: 1 }]],
    ["a refusal", [TAKEN, { ...TAKEN, who: 1, refused: true }]],
    ["the refusal of a second name", [TAKEN, { ...TAKEN, name: "desk", refused: true }]],
  ])("accepts %s", (_name, deeds) => {
    expect(judgeNames(deeds).complaint).toBeUndefined();
  });

  it.each<[string, readonly NameDeed[], RegExp]>([
    ["two holders", [TAKEN, { ...TAKEN, who: 1 }], /which 0 has/],
    ["two names", [TAKEN, { ...TAKEN, name: "desk" }], /beside till/],
    ["a dead holder", [TAKEN, ENDED, HELD], /till is 0, and should be nobody/],
    ["a name that is lost", [TAKEN, FREE], /till is nobody, and should be 0/],
    [
      "a name that is kept after it was given back",
      [TAKEN, { deed: "give back", who: 0 }, HELD],
      /should be nobody/,
    ],
    ["a refusal for nothing", [{ ...TAKEN, refused: true }], /though it is free/],
    [
      "a refusal after the end of the holder",
      [TAKEN, ENDED, { ...TAKEN, who: 1, refused: true }],
      /though it is free/,
    ],
    [
      "an end that is heard of before it came",
      [TAKEN, { deed: "hear", who: 1, of: 0 }, ENDED],
      /has not ended/,
    ],
  ])("rejects %s", (_name, deeds, complaint) => {
    expect(judgeNames(deeds).complaint).toMatch(complaint);
  });
});
