// Durable flows under the simulator: whichever process is killed at whichever step, whatever power is lost, and whoever takes the
// flows of whom, every flow ends as an uninterrupted one does.

import { type System, supervisor } from "signalbox";
import {
  type AnyFlow,
  defineFlow,
  type FlowContext,
  type FlowDefinition,
  type FlowHost,
  flowHost,
} from "signalbox/flow";
import { openStore, type StoreSource } from "signalbox/store";
import type { SimulatedNode, Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { FLOW_SCHEMA, flows, journal } from "../../lib/flow/journal/tables.js";
import { explored } from "../support/proof.js";
import { NoAnswerError, watched } from "./defects/support.js";

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

/** Starts the flows of a cast, perhaps sends mail, and checks how they end. `host` finds the host that runs at the time. */
async function played(sim: Simulation, cast: Cast, host: () => Promise<FlowHost>): Promise<void> {
  const insist = <T>(request: (flows: FlowHost) => Promise<T>): Promise<T> =>
    insisted(sim, async () => request(await host()));
  await insist((flows) => flows.start(cast.listener, undefined, { id: "listener" }));
  await insist((flows) => flows.start(cast.main, 1, { id: "main" }));
  if (sim.choose(2, "mail") === 1)
    await insist((flows) => flows.get("main").send("go", 1, { messageId: "m" }));
  const end = await insist((flows) => flows.get<Result>("main").result({ timeoutMs: 5_000 }));
  const heard = await insist((flows) => flows.get("listener").result({ timeoutMs: 5_000 }));
  expect(end).toEqual({ won: cast.won("main"), child: 4 });
  expect(heard).toBe(`heard ${end.won}`);
  expect(cast.wrong).toEqual([]);
  sim.sometimes("the race went to the clock", end.won === "slept");
  sim.sometimes("the race went to the mail", end.won === "mail");
}

/** Repeats a request to a host until it is answered. */
async function insisted<T>(sim: Simulation, request: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch {
      await sim.sleep(50);
    }
  }
}

/** A host under a supervisor. */
async function supervised(
  system: System,
  store: StoreSource,
  cast: Cast,
  more: readonly AnyFlow[] = [],
  idleMs = 60_000,
): Promise<FlowHost> {
  // Unless a scenario says so flows stay in memory: they are taken from hosts and not from the store.
  const limits = { idleMs };
  const definition = flowHost({
    ...{ store, limits, flows: [...cast.flows, ...more] },
    ...{ name: "flows" },
  });
  await system.start(
    supervisor({ label: "root", intensity: 1000, children: [{ id: "flows", start: definition }] }),
  );
  return definition.at(system, "flows");
}

const RACES = ["the race went to the clock", "the race went to the mail"];

describe("flows of a host whose processes are killed at any step", () => {
  it("end as if nothing had been [J54]", async () => {
    await explored(
      async (sim) => {
        const cast = new Cast();
        const system = sim.system({ name: "shop" });
        sim.calm();
        const flows = await supervised(system, sim.store(), cast);
        sim.storm();
        await played(sim, cast, async () => flows);
      },
      {
        quick: 35,
        seed: 1,
        sometimes: RACES,
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

describe("flows of a machine that loses power", () => {
  it("end as if nothing had been, though writes are lost that were on their way to the disk [J55]", async () => {
    await explored(
      async (sim) => {
        const cast = new Cast();
        const boot = async (node: SimulatedNode): Promise<FlowHost> =>
          supervised(node.system(), node.store, cast);
        const shop = sim.node("shop", boot, { store: { failures: { write: true, atMost: 1 } } });
        await played(sim, cast, () => shop.ready());
        sim.sometimes("the power failed", shop.boots > 1);
      },
      {
        quick: 35,
        seed: 2,
        sometimes: [...RACES, "the power failed"],
        faults: { nodeCrash: { of: "shop", downMs: [0, 100], atMost: 3 } },
      },
    );
  });
});

describe("flows of a host whose store fails for a while", () => {
  it("end as if nothing had been, whichever calls failed, and the host stays [J28]", async () => {
    await explored(
      async (sim) => {
        const cast = new Cast();
        let isOut = false;
        let failed = 0;
        // The calls of an outage fail, or they take place and their answers are lost.
        const late = sim.choose(2, "late") === 1;
        const meet = (isLate: boolean) => (): void => {
          if (!isOut || isLate !== late) return;
          failed++;
          throw new NoAnswerError("no answer");
        };
        const source = watched(sim.store(), meet(false), meet(true));
        const system = sim.system({ name: "shop" });
        sim.calm();
        const flows = await supervised(system, source, cast);
        const host = system.whereis("flows");
        sim.storm();
        const outages = (async () => {
          for (let i = 1 + sim.choose(2, "outages"); i > 0; i--) {
            await sim.sleep(sim.oneOf([0, 1, 4, 9, 12], "until the outage"));
            isOut = true;
            await sim.sleep(sim.oneOf([1, 20, 2_000], "the outage"));
            isOut = false;
          }
        })();
        await played(sim, cast, async () => flows);
        await outages;
        sim.sometimes("a call of the store failed", failed > 0);
        expect(host).toBeDefined();
        expect(system.whereis("flows")).toBe(host);
      },
      { quick: 20, seed: 4, sometimes: [...RACES, "a call of the store failed"] },
    );
  });
});

/** How long the claim of a host holds, by the clock of the store. */
const CLAIM_MS = 15_000;

describe("flows of two hosts that take them from each other", () => {
  it("end once, none is lost, and nothing is written by the host that lost them [J56]", async () => {
    await explored(
      async (sim) => {
        const cast = new Cast();
        const walker = defineFlow("walker", async (flow, steps: number) => {
          const tokens: number[] = [];
          for (let i = 0; i < steps; i++) {
            tokens.push(await flow.step("at", ({ token }) => token));
            await flow.sleep(CLAIM_MS / 2);
          }
          return tokens;
        });
        const source = sim.store({ shared: true, failures: { answer: true, atMost: 2 } });
        const hosts: FlowHost[] = [];
        sim.calm();
        for (const name of ["a", "b"]) {
          const system = sim.system({ name, clock: { driftPpm: [0, -700_000, 200_000] } });
          hosts.push(await supervised(system, source, cast, [walker]));
        }
        const store = await openStore(sim.system({ name: "operator" }), source, [FLOW_SCHEMA]);
        sim.storm();
        const any = async (): Promise<FlowHost> =>
          sim.oneOf([hosts[0], hosts[1]] as [FlowHost, FlowHost], "host");
        await insisted(sim, async () => (await any()).start(walker, 4, { id: "walker" }));
        const revoked = (async () => {
          for (let i = sim.choose(3, "revocations"); i > 0; i--) {
            await sim.sleep(sim.oneOf([0, 1_000, CLAIM_MS], "until the revocation"));
            const [claim] = await store.claims("flows/");
            if (claim !== undefined) await store.revoke(claim.name, claim.token);
          }
        })();
        await played(sim, cast, any);
        await revoked;
        const tokens = await insisted(sim, async () =>
          (await any()).get<number[]>("walker").result({ timeoutMs: 5_000 }),
        );
        sim.sometimes("a flow went over in mid-work", new Set(tokens).size > 1);
        // A host that lost the flow has lost its claim: it never writes again.
        expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
        const rows = await store.scan(flows, {});
        expect(rows.map(({ status, holder }) => `${status} ${holder}`)).toEqual(
          rows.map(() => "completed null"),
        );
        for (const { number } of rows) {
          const entries = await store.scan(journal, { index: "flow", prefix: [number] });
          expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i));
        }
        await store.close();
      },
      {
        quick: 20,
        seed: 3,
        sometimes: [...RACES, "a flow went over in mid-work"],
        faults: { crash: { of: ["a/root/flows", "b/root/flows"], atMost: 2, reason: "kill" } },
      },
    );
  });
});

describe("flows that go between the memories of two hosts and the store", () => {
  it("end once, and run at one place at a time, though answers to commits are lost for good [J65]", async () => {
    await explored(
      async (sim) => {
        const cast = new Cast();
        const shared = sim.store({ shared: true });
        let isCalm = true;
        let lost = 0;
        const lose = (method: string): void => {
          if (method !== "commit" || lost >= 2 || sim.choose(4, "the answer") > 0) return;
          lost++;
          throw new NoAnswerError("no answer");
        };
        const hosts: FlowHost[] = [];
        for (const name of ["a", "b"]) {
          const source = watched(
            shared,
            () => undefined,
            (method) => (isCalm ? undefined : lose(method)),
          );
          hosts.push(await supervised(sim.system({ name }), source, cast, [], 1));
        }
        isCalm = false;
        await played(sim, cast, async () => sim.oneOf(hosts as [FlowHost, FlowHost], "host"));
        sim.sometimes("an answer was lost", lost > 0);
        const store = await openStore(sim.system({ name: "operator" }), shared, [FLOW_SCHEMA]);
        for (const { number, status, holder } of await store.scan(flows, {})) {
          expect(`${status} ${holder}`).toBe("completed null");
          const entries = await store.scan(journal, { index: "flow", prefix: [number] });
          expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i));
        }
        await store.close();
      },
      { quick: 20, seed: 5, sometimes: [...RACES, "an answer was lost"] },
    );
  });
});
