// Telemetry under any schedule: spans end once, causes are known, gauges are true, and a run that is repeated tells the same.

import { ConsumerGroup, consumer, defer, defineServer, refuse, type System, supervisor } from "signalbox";
import { explore, type Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { explored, sized } from "../../support/proof.js";
import { type Ear, listen, unbalanced } from "./support.js";

function desk(sim: Simulation): ReturnType<typeof defineServer> {
  return defineServer({
    label: "desk",
    init: () => ({ sum: 0 }),
    calls: {
      answer: (state) => {
        const manner = sim.oneOf(["reply", "refuse", "later", "never", "crash"], "manner");
        if (manner === "refuse") return refuse(new RangeError("no"));
        if (manner === "later") return sim.sleep(3).then(() => state.sum);
        if (manner === "never") return defer<number>(() => undefined);
        if (manner === "crash") throw new Error("spilled");
        return state.sum;
      },
    },
    casts: {
      note: (state) => {
        state.sum++;
      },
    },
  }) as never;
}

function wrongCauses({ of }: Ear): string[] {
  const crashes = new Set(of("crash").map(({ crash }) => crash));
  const wrong: string[] = [];
  for (const { crash, reason, path } of of("restart"))
    if (crash === undefined ? reason.type === "crash" : !crashes.has(crash))
      wrong.push(`restart of ${path}: ${crash}`);
  for (const { crash, path } of of("start:begin"))
    if (crash !== undefined && !crashes.has(crash)) wrong.push(`start of ${path}: ${crash}`);
  const ended = new Map(of("attempt:end").map((end) => [`${end.dispatch}/${end.attempt}`, end]));
  for (const { dispatch, attempt, crash } of of("attempt:begin")) {
    const before = ended.get(`${dispatch}/${attempt - 1}`);
    if (before !== undefined && before.crash !== crash)
      wrong.push(`attempt ${attempt} after ${before.crash}: ${crash}`);
    if (crash !== undefined && !crashes.has(crash)) wrong.push(`attempt ${attempt}: ${crash}`);
  }
  return wrong;
}

function falseGauges(system: System, { stream }: Ear): string[] {
  const told = stream.sample();
  const depths = system.processes().map((pid) => system.info(pid)?.mailboxDepth ?? 0);
  const sum = told.reduce((all, { depth }) => all + depth, 0);
  const real = depths.reduce((all, depth) => all + depth, 0);
  return sum === real ? [] : [`${sum} messages told, ${real} there`];
}

async function service(sim: Simulation): Promise<Ear> {
  const system = sim.system({ name: "s" });
  const ear = listen(system);
  const group = new ConsumerGroup<number>({ name: "g", patienceMs: 50, maxAttempts: 3 });
  const work = async (): Promise<void> => {
    const manner = sim.oneOf(["quick", "slow", "crash", "stall"], "work");
    if (manner === "crash") throw new Error("dropped");
    if (manner === "slow") await sim.sleep(2);
    if (manner === "stall") await new Promise(() => undefined);
  };
  const Desk = desk(sim);
  const children = [
    { id: "desk", start: Desk as never, name: "desk" },
    { id: "a", start: consumer<number>(work, { group }), shutdown: 5 },
    { id: "b", start: consumer<number>(work, { group }), shutdown: 5 },
  ];
  const strategy = sim.oneOf<"one_for_one" | "one_for_all">(["one_for_one", "one_for_all"], "strategy");
  await system.start(supervisor({ label: "floor", strategy, intensity: 100, children }));
  const handle = Desk.at(system, "desk") as unknown as {
    with(options: object): { call: { answer(): Promise<unknown> }; cast: { note(): void } };
  };
  const aborter = new AbortController();
  const caller = async (i: number): Promise<void> => {
    const timeoutMs = sim.oneOf([2, 20], "timeout");
    const signal = sim.choose(3, "abort") === 2 ? { signal: aborter.signal } : {};
    const { call, cast } = handle.with({ timeoutMs, ...signal });
    cast.note();
    await call.answer().catch(() => undefined);
    await system.dispatch(group, i, { deadlineMs: sim.oneOf([5, 60], "deadline") }).catch(() => undefined);
  };
  const all = [0, 1, 2].map(caller);
  void sim.sleep(1).then(() => aborter.abort(new Error("enough")));
  sim.monitor.always("gauges agree with the mailboxes", () => falseGauges(system, ear)[0]);
  if (sim.choose(3, "stop early") > 0) await Promise.all(all);
  await system.stop({ timeoutMs: sim.oneOf([100, 0], "stop") });
  await Promise.allSettled(all);
  return ear;
}

describe("telemetry, under any schedule,", () => {
  it("ends each span once, and names the crash behind each restart and re-route [L12]", async () => {
    await explored(
      async (sim) => {
        const ear = await service(sim);
        expect(unbalanced(ear.heard)).toEqual([]);
        expect(wrongCauses(ear)).toEqual([]);
        sim.sometimes("a restart", ear.of("restart").length > 0);
        sim.sometimes(
          "a re-route",
          ear.of("attempt:begin").some(({ crash }) => crash !== undefined),
        );
        for (const outcome of ["replied", "refused", "timeout", "aborted", "callee-exited"])
          sim.sometimes(
            outcome,
            ear.of("call:end").some((end) => end.outcome === outcome),
          );
      },
      {
        quick: 30,
        sometimes: ["a restart", "a re-route", "replied", "refused", "timeout", "aborted", "callee-exited"],
      },
    );
  });

  it("tells the same when a schedule is repeated", async () => {
    const tell = async (seed: number): Promise<string> => {
      let told = "";
      await explore(
        async (sim) => {
          const { heard } = await service(sim);
          told += JSON.stringify(heard);
        },
        { seed, schedules: sized(2, 1 / 2_000, 5) },
      );
      return told;
    };
    for (const seed of [1, 2, 3]) expect(await tell(seed)).toBe(await tell(seed));
    expect(await tell(1)).not.toBe(await tell(2));
  });

  it("is seen by an exhaustive search: a listener sees the order of shared accesses", async () => {
    const orders = new Set<string>();
    await explore(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const { of } = listen(system, undefined, ["message:end"]);
        const sinks = ["a", "b"].map((label) => system.spawn<number>({ handle: () => undefined }, { label }));
        for (const sink of sinks) system.send(sink, 1);
        await sim.quiet();
        orders.add(
          of("message:end")
            .map(({ label }) => label)
            .join(""),
        );
        await system.stop();
      },
      { strategy: exhaustive(), schedules: 10_000 },
    );
    expect([...orders].sort()).toEqual(["ab", "ba"]);
  });
});
