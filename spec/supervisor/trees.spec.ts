// Trees of supervisors: random ones with random crashes, run for real. Nobody is ever left without a supervisor.

import fc from "fast-check";
import {
  type ChildSpec,
  type Context,
  dynamicSupervisor,
  type ExitInput,
  type Pid,
  type SupervisorDefinition,
  System,
  stop,
  supervisor,
  supervisorRef,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { proving } from "../support/proof.js";
import { child, House } from "./house.js";

describe("a tree", () => {
  let house: House;
  beforeEach(() => {
    house = new House();
  });
  afterEach(() => house.close());

  it("starts depth first in order, and stops in exactly the reverse order [V1]", async () => {
    const front = supervisor({ children: [child("a"), child("b")] });
    const back = supervisor({ children: [child("c"), child("d")] });
    const root = await house.start({
      children: [child("front", { start: front }), child("x"), child("back", { start: back })],
    });
    const ups = house.news().map((line) => line.split(" ")[0] as string);
    expect(ups).toEqual(["front", "a", "b", "x", "back", "c", "d"]);
    house.system.exit(root.pid, "shutdown");
    await house.system.idle();
    // A branch is up before its children and down after them, so it has its own place in the reverse order.
    const downs = ["d", "c", "back", "x", "b", "a", "front"];
    expect(house.news()).toEqual(downs.map((id) => `${id} down: shutdown`));
  });

  it("restarts a branch as a whole, with a new supervisor and new children, each under the old name", async () => {
    const branch = supervisor({ intensity: 0, name: "branch", children: [child("a", { name: "clerk" })] });
    await house.start({ intensity: 3, children: [child("branch", { start: branch })] });
    for (let i = 0; i < 3; i++) {
      const before = [house.system.whereis("branch"), house.system.whereis("clerk")];
      await house.end("a");
      const after = [house.system.whereis("branch"), house.system.whereis("clerk")];
      expect(after).toEqual([house.the("branch"), house.the("a")]);
      expect(after[0]).not.toBe(before[0]);
      expect(after[1]).not.toBe(before[1]);
    }
  });

  it("may be started by a process, whose end ends the whole tree", async () => {
    const branch = supervisor({ children: [child("a")] });
    const owner = house.system.spawn(async (ctx) => {
      await ctx.start(branch);
      await ctx.receive();
    });
    await house.system.idle();
    expect(house.find("a")).toHaveLength(1);
    house.system.exit(owner, "kill");
    await house.system.idle();
    expect(house.system.population).toBe(0);
    expect(house.news().at(-1)).toBe("a down: shutdown");
  });
});

type Node =
  | {
      readonly kind: "worker";
      readonly restart: "permanent" | "transient" | "temporary";
      readonly trap: boolean;
      /** Which of its starts fail. */
      readonly bad: readonly number[];
    }
  | {
      readonly kind: "branch";
      readonly strategy: "one_for_one" | "one_for_all" | "rest_for_one";
      readonly intensity: number;
      readonly restart: "permanent" | "transient" | "temporary";
      readonly dynamic: boolean;
      readonly children: readonly Node[];
    };

const restart = fc.constantFrom("permanent", "transient", "temporary");
const { tree } = fc.letrec<{ tree: Node; node: Node; worker: Node }>((tie) => ({
  worker: fc.record({
    kind: fc.constant("worker" as const),
    restart,
    trap: fc.boolean(),
    bad: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 2 }),
  }),
  node: fc.oneof({ depthSize: "small", withCrossShrink: true }, tie("worker"), tie("tree")),
  tree: fc.record({
    kind: fc.constant("branch" as const),
    strategy: fc.constantFrom("one_for_one", "one_for_all", "rest_for_one"),
    intensity: fc.constantFrom(0, 1, 3, 50),
    restart,
    dynamic: fc.boolean(),
    children: fc.array(tie("node"), { maxLength: 4 }),
  }),
}));

/** What is done to a tree: something to the process that is at place `who` among all that run. */
const blow = fc.record({
  who: fc.nat({ max: 30 }),
  how: fc.constantFrom("message", "signal", "kill", "two at once"),
  reason: fc.constantFrom<ExitInput>("normal", "shutdown", new Error("broken")),
  settle: fc.boolean(),
});

/** The definitions of a tree; a dynamic branch starts its own children when it is up. */
class Forest {
  readonly supervisors = new Set<Pid>();
  private lastId = 0;

  branch(node: Extract<Node, { kind: "branch" }>): SupervisorDefinition {
    return supervisor({
      strategy: node.strategy,
      intensity: node.intensity,
      onStart: (ctx) => this.supervisors.add(ctx.self),
      children: node.children.map((one) => this.child(one)),
    });
  }

  private child(node: Node): ChildSpec {
    const id = `${node.kind} ${++this.lastId}`;
    const { restart } = node;
    if (node.kind === "worker") return { id, restart, start: this.worker(node) };
    if (!node.dynamic) return { id, restart, start: this.branch(node) };
    return {
      id,
      restart,
      start: dynamicSupervisor({ child: child(`${id} member`), intensity: node.intensity }),
    };
  }

  private worker({ trap, bad }: Extract<Node, { kind: "worker" }>): ChildSpec["start"] {
    let starts = 0;
    return {
      init: (ctx: Context<ExitInput>) => {
        ctx.trapExit(trap);
        if (bad.includes(starts++)) throw new Error("no start");
      },
      handle: (_ctx: Context<ExitInput>, reason: ExitInput) => stop(reason),
      signal: () => undefined,
    };
  }
}

/** A handle of whatever dynamic supervisor is made of this. */
const Dynamic = dynamicSupervisor({ child: child("any") });

/** Every process below a supervisor as it says itself, the supervisor included. */
async function below(system: System, pid: Pid, found: Pid[] = []): Promise<Pid[]> {
  found.push(pid);
  for (const one of await supervisorRef(system, pid).whichChildren()) {
    expect(one.status).not.toBe("restarting");
    expect(one.pid === undefined).toBe(one.status === "stopped");
    if (one.pid === undefined) continue;
    // Each is a child, and a linked one, of nobody else than the supervisor that lists it.
    const info = system.info(one.pid);
    expect(info?.parent === pid && info.links.includes(pid)).toBe(true);
    if (one.type === "supervisor") await below(system, one.pid, found);
    else found.push(one.pid);
  }
  return found;
}

describe("any tree, after any crashes", () => {
  it("has a live supervisor for every process, and every process is listed [V14]", async () => {
    await fc.assert(
      fc.asyncProperty(tree, fc.array(blow, { maxLength: 12 }), async (node, blows) => {
        if (node.kind !== "branch") return;
        const system = new System({ report: false });
        const root = await system.start(new Forest().branch(node));
        for (const { who, how, reason, settle } of blows) {
          // Dynamic branches get a member now and then, so that they have some to lose.
          for (const pid of system.processes()) {
            const { label } = pid;
            if (label?.startsWith("branch") && !label.endsWith("member") && who % 3 === 0) {
              void Dynamic.at(system, pid)
                .startLike()
                .catch(() => undefined);
            }
          }
          const all = system.processes();
          const victim = all[who % Math.max(1, all.length)];
          const next = all[(who + 1) % Math.max(1, all.length)];
          if (victim === undefined || next === undefined) break;
          if (how === "message" && victim.label?.match(/^worker|member$/))
            system.send(victim as Pid<never>, reason as never);
          else system.exit(victim, how === "kill" ? "kill" : reason);
          if (how === "two at once") system.exit(next, reason);
          if (settle) await system.idle();
        }
        await system.idle();
        if (system.isAlive(root.pid)) {
          const known = await below(system, root.pid);
          expect(new Set(known).size).toBe(known.length);
          expect(known.map(String).sort()).toEqual(system.processes().map(String).sort());
        } else {
          // Whoever traps exits and hears of its parent's end ends too.
          expect(system.processes()).toEqual([]);
        }
        await system.stop();
      }),
      { numRuns: proving ? 500 : 150 },
    );
  });
});
