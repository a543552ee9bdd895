// Circles of calls under any schedule, in random programs: a call is refused only where a circle of processes waits, and no circle is
// left waiting. The judge knows nothing of promises: each process writes down what it waits for, before it does.

import { CallCycleError, type Context, defer, defineServer, type System } from "signalbox";
import type { Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";

/** What a handler does in one step. The number is a process. */
type Step =
  /** Calls another process and awaits the reply. */
  | { readonly do: "call"; readonly to: number; readonly after: readonly Step[] }
  /** The same, behind two more async functions. */
  | { readonly do: "nested"; readonly to: number; readonly after: readonly Step[] }
  /** Calls, and does not wait for the reply: it sleeps. */
  | { readonly do: "fire"; readonly to: number; readonly after: readonly Step[] }
  /** Calls, and waits for the reply or for the time. */
  | { readonly do: "race"; readonly to: number; readonly after: readonly Step[] }
  /** Calls, and gets the reply when another process asks for it. */
  | { readonly do: "defer"; readonly to: number }
  | { readonly do: "sleep" };

const SLEEP_MS = 10;

/** A call, as the judge sees it. */
interface Followed {
  readonly to: number;
  /** The callee has put the answer off: others can bring it about. */
  deferred: boolean;
}

/** Who waits for what, by number of process: the call alone, in the present handler. */
type Waits = Map<number, Followed>;

/** Whether the processes from `start` on wait in a circle, by following the waits as often as there are processes. */
function isCircle(waits: Waits, start: number): boolean {
  let at = start;
  for (let i = 0; i <= waits.size; i++) {
    const call = waits.get(at);
    if (call === undefined || call.deferred) return false;
    at = call.to;
    if (at === start) return true;
  }
  return false;
}

/** The processes of a program, and its judge. */
class Cast {
  readonly waits: Waits = new Map();
  readonly wrong: string[] = [];
  /** The processes whose calls were refused. */
  readonly refused: number[] = [];
  answered = 0;
  private readonly sim: Simulation;
  private readonly system: System;

  constructor(sim: Simulation, system: System) {
    this.sim = sim;
    this.system = system;
  }

  private readonly server = defineServer({
    init: (ctx, self: number) => ({ ctx, self }),
    calls: {
      run: async ({ ctx, self }, steps: readonly Step[]) => {
        for (const step of steps) await this.step(ctx, self, step);
      },
      keep: (_state, call: Followed) => {
        call.deferred = true;
        // Another answers in its own time, whatever the process does.
        return defer<void>((caller) => void this.sim.sleep(SLEEP_MS).then(() => caller.reply(undefined)));
      },
    },
  });

  async start(count: number): Promise<void> {
    for (let i = 0; i < count; i++)
      await this.system.startWith({ name: `p${i}`, label: `p${i}` }, this.server, i);
  }

  run(self: number, steps: readonly Step[]): Promise<void> {
    return this.at(self).with({ timeoutMs: Number.POSITIVE_INFINITY }).call.run(steps);
  }

  private at(self: number) {
    return this.server.at(this.system, `p${self}`);
  }

  private async step(ctx: Context<unknown>, self: number, step: Step): Promise<void> {
    if (step.do === "sleep") return this.sim.sleep(SLEEP_MS);
    const call: Followed = { to: step.to, deferred: false };
    const to = this.at(step.to).with({ from: ctx, timeoutMs: Number.POSITIVE_INFINITY });
    if (step.do === "defer") return this.awaited(self, call, () => to.call.keep(call));
    if (step.do === "call") return this.awaited(self, call, () => to.call.run(step.after));
    if (step.do === "nested")
      return this.awaited(self, call, async () => {
        const inner = async (): Promise<void> => {
          await to.call.run(step.after);
        };
        await inner();
      });
    const called = to.call.run(step.after).catch((error: unknown) => this.mustNotBeRefused(error));
    if (step.do === "race") await Promise.race([called, this.sim.sleep(SLEEP_MS)]);
    else await this.sim.sleep(SLEEP_MS);
  }

  private async awaited(self: number, call: Followed, make: () => Promise<void>): Promise<void> {
    this.waits.set(self, call);
    try {
      await make();
      this.answered++;
    } catch (error) {
      if (!(error instanceof CallCycleError)) throw error;
      this.refused.push(self);
      if (!isCircle(this.waits, self)) this.wrong.push(`p${self} is refused a call, and is in no circle`);
    } finally {
      this.waits.delete(self);
    }
  }

  private mustNotBeRefused(error: unknown): void {
    this.wrong.push(`a call that its process does not wait for ends with ${String(error)}`);
  }
}

/** Draws a program. */
function steps(sim: Simulation, self: number, count: number, depth: number): Step[] {
  const made: Step[] = [];
  for (let i = sim.choose(3, "steps"); i > 0; i--) {
    const kind = sim.choose(7, "kind");
    const to = (self + 1 + sim.choose(count - 1, "to")) % count;
    const after = depth === 0 ? [] : steps(sim, to, count, depth - 1);
    if (kind < 2) made.push({ do: "call", to, after });
    else if (kind < 4) made.push({ do: "nested", to, after });
    else if (kind === 4) made.push({ do: "fire", to, after });
    else if (kind === 5) made.push({ do: "race", to, after });
    else made.push(sim.choose(2, "rest") === 0 ? { do: "sleep" } : { do: "defer", to });
  }
  return made;
}

async function program(sim: Simulation): Promise<void> {
  const system = sim.system({ report: false });
  const cast = new Cast(sim, system);
  sim.finally("calls are refused in circles, and there alone", () => cast.wrong.length === 0);
  const count = 2 + sim.choose(3, "processes");
  await cast.start(count);
  const roots: Promise<void>[] = [];
  for (let i = 1 + sim.choose(3, "roots"); i > 0; i--) {
    const self = sim.choose(count, "root");
    roots.push(cast.run(self, steps(sim, self, count, 3)));
  }
  // A circle that was not found would leave this waiting for ever, since no call has a timeout.
  await Promise.all(roots);
  sim.sometimes("refused", cast.refused.length > 0);
  sim.sometimes("refused twice", cast.refused.length > 1);
  sim.sometimes("answered alone", cast.refused.length === 0 && cast.answered > 3);
}

/** Two processes that call each other at the same time. */
async function pair(sim: Simulation): Promise<void> {
  const cast = new Cast(sim, sim.system({ report: false }));
  await cast.start(2);
  await Promise.all([
    cast.run(0, [{ do: "call", to: 1, after: [] }]),
    cast.run(1, [{ do: "nested", to: 0, after: [] }]),
  ]);
  sim.sometimes("the first is refused", cast.refused[0] === 0);
  sim.sometimes("the second is refused", cast.refused[0] === 1);
  sim.finally(
    "one call is refused, the other answered",
    () => cast.refused.length === 1 && cast.answered === 1,
  );
  sim.finally("the judge agrees", () => cast.wrong.length === 0);
}

describe("circles of calls", () => {
  it("are found, and nothing else is, in random programs under random schedules [I14]", () =>
    explored(program, {
      quick: 120,
      // With other seeds, it takes longer until a program has no circle in it.
      seed: 8,
      name: "circles of calls",
      // A circle is no failure here, and at a quiet moment the check takes every open call for one that is awaited.
      checks: { cycles: false },
      sometimes: ["refused", "refused twice", "answered alone"],
    }));

  it("of two processes are found in every schedule [I14]", async () => {
    await exhausted(pair, {
      name: "two call each other",
      checks: { cycles: false },
      sometimes: ["the first is refused", "the second is refused"],
    });
  });
});
