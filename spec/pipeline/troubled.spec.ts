// Programs that one message ends again and again, and that are killed and stopped besides: who is in quarantine, and how soon.

import { definePipeline, type PipelineHost, pipelineHost, queue, route } from "signalbox/pipeline";
import { openStore } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { expect, it } from "vitest";
import { deadLetters, executions, messages, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { isLoop, marksOf } from "../support/evidence-model.js";
import { explored } from "../support/proof.js";
import { HARMS, type Harm, TroubledProgram } from "../support/troubled-program.js";

const POISON = "POISON";
const GOOD = 8;
/** A poison may end its program so often. */
const MOST_HARMS = 8;
const MOST_LIVES = 40;
const LOOK_MS = 20;

const never = (): Promise<never> => new Promise(() => undefined);
const values: (number | typeof POISON)[] = Array.from({ length: GOOD }, (_, n) => n);
values.splice(GOOD / 2, 0, POISON);

/** A pipeline with good messages, whose adapter fails at first, and a bad one. */
class Work {
  readonly program: TroubledProgram<PipelineHost>;
  readonly #sim: Simulation;
  readonly #numbers = queue<number | typeof POISON>("numbers");
  readonly #definition;
  #readers = 0;
  poison = "";

  constructor(sim: Simulation, harm: Harm) {
    this.#sim = sim;
    const works = route("works", { from: this.#numbers, concurrency: 3 }).via("work", async (value, ctx) => {
      await sim.sleep(sim.oneOf([1, 10, 40], "work"));
      if (value === POISON) {
        this.poison = `message:1/${ctx.id}`;
        this.program.harm(this.poison, harm);
        return never();
      }
      if (this.program.runs()) return never();
      if (ctx.attempt === 1) throw new Error("the first attempt fails");
      return undefined;
    });
    this.#definition = definePipeline("troubled", { routes: [works] });
    this.program = new TroubledProgram(sim, (node, evidence) =>
      node
        .system()
        .start(pipelineHost({ store: node.store, pipelines: [this.#definition], evidence, drainMs: 1 })),
    );
  }

  /** All that a life has to do: the poison is in quarantine, and all others are done. */
  readonly live = async (host: PipelineHost): Promise<void> => {
    await host.start(this.#definition, { id: "one", messages: { to: this.#numbers, values } });
    while ((await host.get("one").progress()).done < GOOD) await this.#sim.sleep(LOOK_MS);
  };

  /** What is in the store between two lives. */
  async left() {
    const system = this.#sim.system({ name: `reader ${this.#readers++}` });
    const store = await openStore(system, this.program.store, [PIPELINE_SCHEMA]);
    const [execution] = await store.scan(executions, {});
    const live = await store.scan(messages, {});
    const dead = await store.scan(deadLetters, {});
    await store.close();
    const kept = live.filter(({ quarantines }) => (quarantines ?? 0) > 0).map(({ body }) => body);
    return { done: execution?.done ?? 0, kept, dead: dead.map(({ body }) => body) };
  }
}

it("the message that ends its program is in quarantine after eight lives, no other one is, and all others are done [Y400]", async () => {
  await explored(
    async (sim) => {
      const harm = sim.oneOf(HARMS, "harm");
      const work = new Work(sim, harm);
      const { program } = work;
      let harms: number | undefined;
      for (;;) {
        const before = { harms: program.harmed, due: marksOf(program.past).length };
        await program.live(work.live);
        const { done, kept, dead } = await work.left();
        expect(dead).toEqual([]);
        expect(kept).toEqual(kept.length === 0 ? [] : [JSON.stringify(POISON)]);
        if (kept.length > 0 && harms === undefined) {
          harms = before.harms;
          if (!isLoop(program.past)) expect(before.due, JSON.stringify(program.past)).toBe(1);
        }
        if (harms !== undefined && done === GOOD) break;
        expect(program.past.length, JSON.stringify(program.past)).toBeLessThan(MOST_LIVES);
      }
      expect(harms, JSON.stringify(program.past)).toBeLessThanOrEqual(MOST_HARMS);
      expect(marksOf(program.past).every(({ subject }) => subject === work.poison)).toBe(true);
      sim.sometimes(`the harm was ${harm}`);
      sim.sometimes("a kill hit the code of a good message", program.struck.hit > 0);
      sim.sometimes("a kill and a stop came between", program.struck.kill > 0 && program.struck.stop > 0);
    },
    { quick: 30, seed: 400 },
  );
});
