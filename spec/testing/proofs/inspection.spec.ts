// Suspend, resume and swap beside callers, casts, crashes and stops, under any schedule. The judge counts: nothing is handled while the
// server is suspended, nothing is lost or doubled, and each definition has its own kind of replies.

import { defineServer, inspect, type System, supervisor } from "signalbox";
import type { Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";

interface Watch {
  /** Requests that wait for the resumption: what is handled meanwhile is wrong. */
  suspended: boolean;
  readonly wrong: string[];
  readonly handled: number[];
  swaps: number;
}

/** A version of a counter. It refuses a state of another version, and says in each reply which version it is. */
function version(watch: Watch, n: number) {
  const check = (state: { readonly version: number }): void => {
    if (state.version !== n) watch.wrong.push(`version ${n} has a state of version ${state.version}`);
    if (watch.suspended) watch.wrong.push("a suspended process handles a message");
  };
  return defineServer({
    init: () => ({ version: n, count: 0 }),
    calls: {
      add: (state, id: number) => {
        check(state);
        state.count++;
        watch.handled.push(id);
        return { by: n, count: state.count };
      },
    },
    casts: {
      note: (state, id: number) => {
        check(state);
        state.count++;
        watch.handled.push(id);
      },
      fail: () => {
        throw new Error("down");
      },
    },
    trapExit: true,
    terminate: (state) => {
      if (state.version !== n) watch.wrong.push("terminate of another version");
    },
  });
}

function watched(sim: Simulation): Watch {
  const watch: Watch = { suspended: false, wrong: [], handled: [], swaps: 0 };
  sim.finally("the judge agrees", () => watch.wrong.length === 0);
  sim.finally("nothing is handled twice", () => new Set(watch.handled).size === watch.handled.length);
  return watch;
}

/** A request of the inspector may find no process: the supervisor restarts it. */
async function mayMiss(request: Promise<unknown>): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== "ERR_NO_PROCESS" && code !== "ERR_CALLEE_EXITED") throw error;
    return false;
  }
}

const patient = { timeoutMs: Number.POSITIVE_INFINITY };

async function service(sim: Simulation): Promise<void> {
  const system = sim.system({ report: false });
  const watch = watched(sim);
  const [one, two] = [version(watch, 1), version(watch, 2)];
  const crashes = sim.choose(2, "crashes") === 1;
  const root = await system.start(
    supervisor({
      intensity: 10,
      children: [{ id: "counter", name: "counter", start: one, shutdown: 1_000 }],
    }),
  );
  const at = one.at(system, "counter");
  let calls = 0;
  let ids = 0;
  const caller = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      if (sim.choose(2, "cast") === 0) at.cast.note(++ids);
      else if (await mayMiss(at.with(patient).call.add(++ids))) calls++;
    }
  };
  const inspector = inspect(system, "counter");
  const operator = async (): Promise<void> => {
    for (let i = 0; i < 2; i++) {
      const act = sim.choose(3, "act");
      if (act === 0) {
        const pid = system.whereis("counter");
        if (await mayMiss(inspector.suspend(patient))) {
          // Between the two, its life may have ended, and another may run.
          watch.suspended = !crashes && pid === system.whereis("counter");
          if (watch.suspended) await inspector.state(patient);
          watch.suspended = false;
          await mayMiss(inspector.resume(patient));
          sim.sometimes("suspended and resumed");
        }
      } else if (act === 1) {
        const migrate = async (old: { version: number; count: number }) => {
          if (sim.choose(2, "slow") === 1) await sim.sleep(5);
          return { version: 2, count: old.count };
        };
        if (await swapped(inspector.swap(two, migrate, { from: one, ...patient }))) {
          watch.swaps++;
          sim.sometimes("swapped");
        }
      } else {
        const failed = inspector.swap(two, () => Promise.reject(new Error("no")), { from: one, ...patient });
        if (!(await swapped(failed))) sim.sometimes("a migration failed");
      }
    }
  };
  const all = [caller(), caller(), operator()];
  if (crashes) at.cast.fail();
  await Promise.all(all);
  await system.idle();
  const left = system.whereis("counter");
  if (left !== undefined && !crashes) {
    const { count, version: by } = await inspector.state<{ count: number; version: number }>(patient);
    if (count !== watch.handled.length || count !== ids) watch.wrong.push(`${count} of ${ids} handled`);
    if (by !== (watch.swaps > 0 ? 2 : 1)) watch.wrong.push(`version ${by} after ${watch.swaps} swaps`);
  }
  if (sim.choose(2, "ends suspended") === 1) await mayMiss(inspector.suspend(patient));
  await root.terminateChild("counter").catch(() => undefined);
  if (system.whereis("counter") !== undefined) watch.wrong.push("a stopped child runs");
  sim.sometimes("all answered", calls === 6);
}

/** A swap is refused by a process that has been swapped before, or is gone. */
async function swapped(request: Promise<void>): Promise<boolean> {
  try {
    return await mayMiss(request);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== "ERR_NOT_SWAPPABLE" && code !== "ERR_SWAP") throw error;
    return false;
  }
}

/** One caller beside one operator, who suspends, swaps and resumes. */
async function desk(sim: Simulation, system: System): Promise<void> {
  const watch = watched(sim);
  const [one, two] = [version(watch, 1), version(watch, 2)];
  const server = await system.start(one);
  const inspector = inspect(system, server.pid);
  const called = server.call.add(1);
  const suspension = await inspector.suspend();
  watch.suspended = true;
  const later = server.call.add(2);
  await inspector.swap(two, ({ count }: { count: number }) => ({ version: 2, count }));
  watch.suspended = false;
  await suspension.resume();
  const replies = [await called, await later];
  if (JSON.stringify(replies) !== '[{"by":1,"count":1},{"by":2,"count":2}]')
    watch.wrong.push(JSON.stringify(replies));
}

describe("inspection", () => {
  it("keeps every message, and each version its own state, beside callers and crashes [I15]", () =>
    explored(service, {
      quick: 120,
      name: "inspection",
      sometimes: ["suspended and resumed", "swapped", "a migration failed", "all answered"],
    }));

  it("of one server by one operator is the same in every schedule [I15]", async () => {
    await exhausted((sim) => desk(sim, sim.system({ report: false })), { name: "suspend, swap, resume" });
  });
});
