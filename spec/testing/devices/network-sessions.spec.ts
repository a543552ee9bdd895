// The sessions of production between the systems of a simulation: their ends, their heartbeats by virtual time, and what they cost.

import type { Pid, ReplyTo, System } from "signalbox";
import { explore, type NetworkOptions, type SimulatedNetwork, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { proving } from "../../support/proof.js";

/** Links that one schedule makes between two systems. */
const LINKS = 6;

interface Pair {
  readonly network: SimulatedNetwork;
  readonly here: System;
  readonly there: System;
  /** Beginnings and ends of sessions, in order, with the time. */
  readonly told: string[];
  /** What a process in `there` got, and the pid by which `here` knows it. */
  readonly heard: unknown[];
  readonly far: Pid<unknown>;
}

function pair(sim: Simulation, options: NetworkOptions = {}): Pair {
  const network = sim.network(options);
  const told: string[] = [];
  const [here, there] = ["here", "there"].map((name) => {
    const system = network.join(sim.system({ name }));
    system.events.on("nodeUp", () => void told.push(`${name} up`));
    system.events.on("nodeDown", ({ reason }) => void told.push(`${name} ${reason} at ${sim.now}`));
    return system;
  }) as [System, System];
  const heard: unknown[] = [];
  const pid = there.spawn<unknown>({ handle: (_ctx, message) => void heard.push(message) });
  return { network, here, there, told, heard, far: here.pidAt(there.address(pid)) };
}

async function once<T>(scenario: (sim: Simulation) => Promise<T>): Promise<T> {
  let result: T | undefined;
  await explore(
    async (sim) => {
      result = await scenario(sim);
    },
    { schedules: 1 },
  );
  return result as T;
}

describe("sessions of simulated systems", () => {
  test("a silent cut ends the session at both systems by the heartbeats' limit, the frames that it held are not delivered, and both meet again [N1170]", async () => {
    await once(async (sim) => {
      const { network, here, there, told, heard, far } = pair(sim);
      here.send(far, "before");
      await sim.sleep(10_000);
      network.cut(here, there, { silent: true });
      here.send(far, "held");
      await sim.sleep(1_900);
      expect(told).toEqual(["here up", "there up"]);
      await sim.sleep(200);
      expect(told.slice(2).sort()).toEqual([
        expect.stringMatching(/^here (timeout|stalled) at 12000$/),
        "there timeout at 12000",
      ]);
      expect(here.deadLetters).toBe(1);
      await sim.sleep(10_000);
      network.heal(here, there);
      here.send(far, "after");
      await sim.sleep(10);
      expect(heard).toEqual(["before", "after"]);
      expect(told.slice(4).sort()).toEqual(["here up", "there up"]);
    });
  });

  test("a silent cut in one direction ends the session at both systems [N1170]", async () => {
    for (const away of [true, false])
      await once(async (sim) => {
        const { network, here, there, told, far } = pair(sim);
        here.send(far, "before");
        await sim.sleep(1_000);
        network.cut(...((away ? [here, there] : [there, here]) as [System, System]), {
          silent: true,
          oneWay: true,
        });
        await sim.sleep(2_100);
        expect(told.slice(2).map((one) => one.split(" ")[0])).toHaveLength(2);
        expect(new Set(told.slice(2).map((one) => one.split(" ")[0]))).toEqual(new Set(["here", "there"]));
      });
  });

  test("a lost frame ends the session at both systems, and each process hears of that once [N1171]", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        const { here, told, heard, far } = pair(sim, { drop: {} });
        const signals: string[] = [];
        here.spawn({
          init: (ctx) => {
            ctx.trapExit(true);
            ctx.link(far);
          },
          handle: () => undefined,
          signal: (_ctx, signal) => void signals.push("reason" in signal ? signal.reason.type : "?"),
        });
        await sim.quiet();
        for (let n = 0; n < 3; n++) here.send(far, n);
        await sim.sleep(5_000);
        const isDown = told.some((one) => one.includes(" at "));
        expect(signals).toEqual(isDown ? ["noconnection"] : []);
        // A prefix of what was sent.
        expect(heard).toEqual([0, 1, 2].slice(0, heard.length));
        expect(
          told
            .filter((one) => one.includes(" at "))
            .map((one) => one.split(" ")[0])
            .sort(),
        ).toEqual(isDown ? ["here", "there"] : []);
        for (const one of told) seen.add(one.split(" ")[1] as string);
      },
      { strategy: randomWalk({ rates: { drop: 0.3 } }), schedules: proving ? 400 : 60 },
    );
    expect([...seen]).toEqual(expect.arrayContaining(["up", "gap"]));
  });

  test("frames out of order or twice: a prefix arrives, once [N1171]", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        const { here, heard, far } = pair(sim, {
          ...{ duplicate: { afterMs: [0, 50], atMost: 3 }, reorder: { atMost: 2 }, sessions: true },
        });
        for (const letter of "abcd") here.send(far, letter);
        await sim.sleep(10_000);
        seen.add(heard.join(""));
      },
      { strategy: randomWalk({ rates: { duplicate: 0.3, reorder: 0.3 } }), schedules: proving ? 400 : 80 },
    );
    for (const one of seen) expect("abcd".startsWith(one), one).toBe(true);
    expect(seen.size).toBeGreaterThan(1);
  });

  test("sessions add no step to a schedule and no timer to a simulation that has no work [N1172]", async () => {
    const count = async (sessions: boolean): Promise<number> => {
      const { schedules } = await explore(
        async (sim) => {
          const network = sim.network({ sessions });
          const [here, there] = ["here", "there"].map((name) => network.join(sim.system({ name }))) as [
            System,
            System,
          ];
          const far = here.pidAt(there.address(there.spawn({ handle: () => undefined })));
          const mine = here.spawn({ handle: () => undefined });
          const known = there.pidAt(here.address(mine));
          here.spawn((ctx) => ctx.send(far, "a"));
          here.spawn((ctx) => ctx.send(far, "b"));
          there.spawn((ctx) => ctx.send(known, "c"));
          await sim.sleep(3_600_000);
        },
        { strategy: exhaustive(), schedules: 20_000, recheck: 0 },
      );
      return schedules;
    };
    expect(await count(true)).toBe(await count(false));
    // A scenario that waits in vain is found, and does not run on with heartbeats.
    const never = explore(
      async (sim) => {
        const { here, far } = pair(sim);
        here.send(far, "a");
        await new Promise(() => undefined);
      },
      { schedules: 1 },
    );
    await expect(never).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_SIM/) });
  });

  test("a search knows that the end of a session conflicts with calls: in any order a call is answered, or ends with `noconnection` [N1172]", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        const { network, here, there } = pair(sim);
        const echo = there.spawn<{ readonly to: ReplyTo<string> }>({
          handle: (ctx, { to }) => ctx.reply(to, "ok"),
        });
        const known = here.pidAt(there.address(echo)) as typeof echo;
        there.spawn(() => network.cut(here, there, { silent: true }), { label: "digger" });
        const answer = await here
          .call(known, (to: ReplyTo<string>) => ({ to }), { timeoutMs: 60_000 })
          .catch((error) => error.reason.type as string);
        seen.add(`${answer} ${sim.now > 0 ? "later" : "at once"}`);
      },
      { strategy: exhaustive(), schedules: 20_000, recheck: 0 },
    );
    expect([...seen].sort()).toEqual(["noconnection later", "ok at once"]);
  });

  test("whatever is cut, healed and lost, each link between two systems ends at both sides or at none [N1173]", async () => {
    await explore(
      async (sim) => {
        const { here, there, told } = pair(sim, {
          drop: {},
          partition: { atMost: 2, oneWay: true, silent: true, forMs: [10, 1_500, 4_000] },
          latencyMs: [0, 20],
        });
        const ends: string[] = [];
        const side = (system: System, name: string): Pid<Pid> =>
          system.spawn<Pid>({
            init: (ctx) => ctx.trapExit(true),
            handle: (ctx, other) => ctx.link(other),
            signal: () => void ends.push(name),
          });
        // Each link is followed by others, so that the loss of its frame leaves a gap.
        const pairs: (readonly [Pid<Pid>, Pid<Pid>])[] = [];
        for (let n = 0; n < LINKS; n++) {
          const [one, other] = [side(here, "here"), side(there, "there")];
          pairs.push([one, other]);
          here.send(one, here.pidAt(there.address(other)));
          await sim.sleep(200);
        }
        await sim.sleep(60_000);
        sim.calm();
        await sim.sleep(60_000);
        const at = (system: System, pid: Pid): number => system.info(pid)?.links.length ?? 0;
        for (const [one, other] of pairs) expect(at(here, one)).toBe(at(there, other));
        expect(ends.length).toBeLessThanOrEqual(2 * LINKS);
        const ups = (name: string): number => told.filter((text) => text === `${name} up`).length;
        expect(Math.abs(ups("here") - ups("there"))).toBeLessThanOrEqual(1);
      },
      { strategy: randomWalk({ rates: { drop: 0.05 } }), schedules: proving ? 1_000 : 100 },
    );
  });
});
