// Programs that one flow ends again and again, and that are killed and stopped besides: who is in hospital, and how soon.

import { defineFlow, type FlowHost, flowHost } from "signalbox/flow";
import type { Simulation } from "signalbox/testing";
import { expect, it } from "vitest";
import { HOSPITAL_DEFAULTS } from "../../../lib/flow/index.js";
import { isLoop, marksOf } from "../../support/evidence-model.js";
import { explored } from "../../support/proof.js";
import { HARMS, type Harm, TroubledProgram } from "../../support/troubled-program.js";

const POISON = "poison";
const GOOD = 3;
const STEPS = 3;
/** A poison may end its program so often. */
const MOST_HARMS = 8;
const MOST_LIVES = 40;
const LOOK_MS = 20;

const never = (): Promise<never> => new Promise(() => undefined);
const ids = Array.from({ length: GOOD }, (_, n) => `good-${n}`);

/** The flows of a program, and what their code has seen. */
class Cast {
  readonly patients = new Set<string>();
  /** How often the poison had ended the program when it came to the hospital, and the marks that were due by then. */
  kept: { readonly harms: number; readonly due: number } | undefined;
  /** Steps whose outcome the code saw, and that ran again. */
  readonly repeated: string[] = [];
  readonly #seen = new Set<string>();
  /** The life in which the body of a step ended last. */
  readonly #ended = new Map<string, number>();
  readonly #sim: Simulation;
  readonly program: TroubledProgram<FlowHost>;

  constructor(sim: Simulation, harm: Harm) {
    this.#sim = sim;
    const good = defineFlow("good", async (flow, n: number) => {
      let sum = n;
      for (let step = 1; step <= STEPS; step++) {
        sum += await flow.step(`step ${step}`, () => this.#work(`${flow.flowId} ${step}`));
        this.#saw(flow.flowId, step);
      }
      return sum;
    });
    const poison = defineFlow(POISON, async (flow, _: null) => {
      await flow.step("step 1", () => this.#work(`${POISON} 1`));
      this.#saw(POISON, 1);
      await flow.step("harm", async () => {
        await sim.sleep(1);
        this.program.harm(`flow:${POISON}`, harm);
        return never();
      });
    });
    this.program = new TroubledProgram(sim, (node, evidence) =>
      node.system().start(flowHost({ store: node.store, flows: [good, poison], evidence })),
    );
    this.live = async (host) => {
      for (const [n, id] of ids.entries()) await host.start(good, n, { id });
      await host.start(poison, null, { id: POISON });
      const results = ids.map((id) => host.get<number>(id).result());
      const [, ...all] = await Promise.all([this.#poisonKept(host), ...results]);
      return all;
    };
  }

  /** All that a life has to do. */
  readonly live: (host: FlowHost) => Promise<readonly number[]>;

  async #work(step: string): Promise<1> {
    if (this.#seen.has(step)) this.repeated.push(step);
    await this.#sim.sleep(this.#sim.oneOf([1, 10, 40], "step"));
    if (this.program.runs()) return never();
    this.#ended.set(step, this.program.past.length);
    return 1;
  }

  #saw(id: string, step: number): void {
    const key = `${id} ${step}`;
    this.#seen.add(key);
    // A replay is no progress.
    if (this.#ended.get(key) === this.program.past.length) this.program.progressed(`flow:${id}`);
  }

  async #poisonKept(host: FlowHost): Promise<void> {
    for (;;) {
      for (const { id } of await host.hospital.patients()) this.patients.add(id);
      if (this.patients.has(POISON)) break;
      await this.#sim.sleep(LOOK_MS);
    }
    this.kept ??= { harms: this.program.harmed, due: marksOf(this.program.past).length };
  }
}

/** As many marks as the rules say. A blow between the commit of a mark and the note that it is stored may count the mark twice. */
function markedAsDue({ kept, program: { struck } }: Cast): boolean {
  const missing = HOSPITAL_DEFAULTS.maxCrashes - (kept?.due ?? 0);
  return missing >= 0 && missing <= struck.kill + struck.stop + struck.hit;
}

it("the flow that ends its program is in hospital after eight lives, no other one is, and all others end well [J401]", async () => {
  await explored(
    async (sim) => {
      const harm = sim.oneOf(HARMS, "harm");
      const cast = new Cast(sim, harm);
      const { program } = cast;
      const results: number[] = [];
      const live = async (host: FlowHost): Promise<void> => {
        results.splice(0, GOOD, ...(await cast.live(host)));
      };
      while (!(await program.live(live))) expect(program.past.length).toBeLessThan(MOST_LIVES);
      expect([...cast.patients]).toEqual([POISON]);
      expect(cast.repeated).toEqual([]);
      expect(results).toEqual(ids.map((_, n) => n + STEPS));
      expect(cast.kept?.harms, JSON.stringify(program.past)).toBeLessThanOrEqual(MOST_HARMS);
      expect(marksOf(program.past).every(({ subject }) => subject === `flow:${POISON}`)).toBe(true);
      if (!isLoop(program.past)) expect(markedAsDue(cast), JSON.stringify(program.past)).toBe(true);
      sim.sometimes(`the harm was ${harm}`);
      sim.sometimes("a kill hit the code of a good flow", program.struck.hit > 0);
      sim.sometimes("a kill and a stop came between", program.struck.kill > 0 && program.struck.stop > 0);
    },
    { quick: 30, seed: 401 },
  );
});
