// Durable flows under the simulator: whichever process is killed at whichever step, whatever power is lost, and whoever takes the
// flows of whom, every flow ends as an uninterrupted one does.

import { type System, supervisor } from "signalbox";
import { type AnyFlow, defineFlow, type FlowContext, type FlowDefinition, flowHost } from "signalbox/flow";
import type { MemorySource } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../support/proof.js";

/** The hospital does not suspect flows of the kills that a scenario makes. */
const PATIENT = { maxCrashes: Number.MAX_SAFE_INTEGER };

interface Result {
  readonly won: string;
  readonly child: number;
}

/** The flows of a scenario, and what their code has seen. It outlives all hosts. */
class Cast {
  readonly flows: readonly AnyFlow[];
  readonly main: FlowDefinition<number, Result>;
  readonly listener: FlowDefinition<undefined, string>;
  /** What the code has got of each ask, by flow and ask. */
  readonly #seen = new Map<string, unknown>();
  readonly wrong: string[] = [];
  /** Bodies of steps that ran. */
  runs = 0;

  constructor() {
    const child = defineFlow("child", async (flow, n: number) => {
      const doubled = await this.step(flow, "double", () => n * 2);
      await flow.sleep(5);
      return doubled;
    });
    this.listener = defineFlow("listener", async (flow, _: undefined) => {
      const news = (await flow.receive("news")) as string;
      this.saw(flow.flowId, "news", news);
      return this.step(flow, "heard", () => `heard ${news}`);
    });
    this.main = defineFlow("main", async (flow, n: number) => {
      const one = await this.step(flow, "one", () => n + 1);
      const won = await Promise.race([
        flow.sleep(10).then(() => "slept"),
        flow.receive("go").then(() => "mail"),
      ]);
      this.saw(flow.flowId, "race", won);
      const [got] = await Promise.all([flow.call(child, one), flow.send("listener", "news", won)]);
      await this.step(flow, "last", () => won);
      return { won, child: got };
    });
    this.flows = [child, this.listener, this.main];
  }

  step<T extends string | number>(
    flow: Pick<FlowContext, "flowId" | "step">,
    name: string,
    body: () => T,
  ): Promise<T> {
    const key = `${flow.flowId} step ${name}`;
    const run = (): T => {
      this.runs++;
      if (this.#seen.has(key)) this.wrong.push(`${key} runs again`);
      return body();
    };
    return (flow.step(name, run) as Promise<T>).then((value) => {
      this.saw(flow.flowId, `step ${name}`, value);
      return value;
    });
  }

  /** The code of a flow has got an outcome: for ever the same. */
  saw(flow: string, ask: string, value: unknown): void {
    const key = `${flow} ${ask}`;
    if (this.#seen.has(key) && this.#seen.get(key) !== value)
      this.wrong.push(`${key} is ${value}, and was ${this.#seen.get(key)}`);
    this.#seen.set(key, value);
  }

  won(flow: string): unknown {
    return this.#seen.get(`${flow} race`);
  }
}

/** Repeats a request to a host until it is answered. */
async function insist<T>(sim: Simulation, request: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch {
      await sim.sleep(50);
    }
  }
}

async function supervised(system: System, store: MemorySource, cast: Cast) {
  const definition = flowHost({ store, flows: cast.flows, name: "flows", hospital: PATIENT });
  await system.start(
    supervisor({ label: "root", intensity: 1000, children: [{ id: "flows", start: definition }] }),
  );
  return definition.at(system, "flows");
}

describe("flows of a host whose processes are killed at any step", () => {
  it("end as if nothing had been [J54]", async () => {
    await explored(
      async (sim) => {
        const cast = new Cast();
        const system = sim.system({ name: "shop" });
        sim.calm();
        const flows = await supervised(system, sim.store(), cast);
        sim.storm();
        await insist(sim, () => flows.start(cast.listener, undefined, { id: "listener" }));
        const main = await insist(sim, () => flows.start(cast.main, 1, { id: "main" }));
        if (sim.choose(2, "mail") === 1) await insist(sim, () => main.send("go", 1, { messageId: "m" }));
        const end = await insist(sim, () => main.result());
        const heard = await insist(sim, () => flows.get("listener").result());
        expect(end).toEqual({ won: cast.won("main"), child: 4 });
        expect(heard).toBe(`heard ${end.won}`);
        expect(cast.wrong).toEqual([]);
      },
      {
        quick: 100,
        seed: 1,
        faults: {
          crash: [
            { of: "shop/root/**", atMost: 3, reason: "kill" },
            { of: "shop/root/flows", atMost: 1 },
          ],
        },
      },
    );
  });
});
