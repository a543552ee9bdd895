// Heartbeats of adapters: what the next attempt gets, what people see, and whom they clear.

import { System } from "signalbox";
import {
  definePipeline,
  type ExecutionDetails,
  type PipelineHost,
  pipelineHost,
  queue,
  route,
} from "signalbox/pipeline";
import { memory, type StoreSource } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { expect, it } from "vitest";
import { HEARTBEAT_MS } from "../../lib/host/background/heartbeats.js";
import { EvidenceBox } from "../support/evidence-box.js";
import { explored } from "../support/proof.js";

const LINES = 16;
/** Ends without a word: more than a message without heartbeats outlives. */
const ENDS = 20;
const LINE_MS = HEARTBEAT_MS / 4;

class World implements AsyncDisposable {
  readonly clock = testClock();
  readonly source = memory();
  /** What each attempt got of those before it, and its number. */
  readonly got: (readonly [number, unknown])[] = [];
  /** The line at which the first attempt fails. */
  failsAt: number | undefined;
  system: System = this.#start();
  readonly files = queue<number>("files");
  readonly load = route("load", { from: this.files }).via("lines", async (lines, ctx) => {
    this.got.push([ctx.attempt, ctx.lastHeartbeat]);
    for (let line = Number(ctx.lastHeartbeat ?? 0); line < lines; line++) {
      await ctx.sleep(LINE_MS);
      ctx.heartbeat(line + 1);
      if (ctx.attempt === 1 && line + 1 === this.failsAt) throw new Error("half of it");
    }
    return undefined;
  });
  readonly pipeline = definePipeline("files", { routes: [this.load] });

  #start(): System {
    return new System({ environment: this.clock.environment, report: false });
  }

  /** @param store - undefined: memory alone */
  host(store: StoreSource | undefined): Promise<PipelineHost> {
    const more = store === undefined ? {} : { store };
    return this.clock.until(this.system.start(pipelineHost({ pipelines: [this.pipeline], ...more })));
  }

  async begin(host: PipelineHost): Promise<void> {
    const messages = { to: this.files, values: [LINES] };
    await this.clock.until(host.start(this.pipeline, { id: "a", messages }));
  }

  async die(): Promise<void> {
    this.source.lose();
    await this.clock.until(this.system.stop());
    this.system = this.#start();
  }

  details(host: PipelineHost): Promise<ExecutionDetails> {
    return this.clock.until(host.get("a").inspect());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clock.until(this.system.stop());
  }
}

it("gives the last heartbeat that was written to the attempt after a crash, and shows it [Y426]", async () => {
  await using world = new World();
  const first = await world.host(world.source);
  await world.begin(first);
  await world.clock.advance(LINE_MS * (LINES / 2));
  expect((await world.details(first)).heartbeats).toEqual([
    {
      message: "10.10",
      queue: "files",
      heartbeats: [["lines", { at: expect.any(Number), progress: expect.any(Number) }]],
    },
  ]);
  await world.die();
  const second = await world.host(world.source);
  await world.clock.until(second.get("a").completed());
  const [[, before], [attempt, after]] = world.got as [[number, number], [number, number]];
  expect(before).toBeUndefined();
  expect(attempt).toBe(1);
  // Written once in a while: the last lines are done again.
  expect(after).toBeGreaterThan(0);
  expect(after).toBeLessThanOrEqual(LINES / 2);
  expect((await world.details(second)).heartbeats).toBeUndefined();
});

it.each(["a store", "memory alone"])(
  "gives the last heartbeat to the attempt after a failure, in %s [Y426]",
  async (where) => {
    await using world = new World();
    world.failsAt = LINES / 2;
    const host = await world.host(where === "a store" ? world.source : undefined);
    await world.begin(host);
    await world.clock.until(host.get("a").completed());
    expect(world.got).toEqual([
      [1, undefined],
      [2, LINES / 2],
    ]);
  },
);

it.each([
  [true, 0],
  [false, 1],
])(
  "clears a message, whose program ends at it again and again: with heartbeats, %s, dead letters: %i [Y427]",
  async (beats, dead) => {
    await explored(
      async (sim) => {
        const evidence = new EvidenceBox();
        const jobs = queue<string>("jobs");
        let ends = 0;
        const work = route("work", { from: jobs }).via("work", async (_, ctx) => {
          if (beats) ctx.heartbeat(ends);
          await sim.sleep(HEARTBEAT_MS);
          if (ends === ENDS) return undefined;
          ends++;
          evidence.end();
          shop.crash();
          return new Promise<undefined>(() => undefined);
        });
        const definition = definePipeline("work", { routes: [work] });
        const shop = sim.node("shop", (node): Promise<PipelineHost> => {
          const host = pipelineHost({ store: node.store, pipelines: [definition], evidence });
          return node.system().start(host);
        });
        const start = { id: "one", messages: { to: jobs, values: ["job"] } };
        await (await shop.ready()).start(definition, start);
        for (let isOver = false; !isOver; ) {
          const host = await shop.ready();
          const { ended } = await host
            .get("one")
            .status()
            .catch(() => ({ ended: undefined }));
          isOver = ended !== undefined;
          if (isOver) expect((await host.get("one").status()).dead).toBe(dead);
          await sim.sleep(HEARTBEAT_MS);
          if (!shop.powered) shop.restart();
        }
      },
      { quick: 1, share: 0.01, seed: 427 },
    );
  },
);

it("refuses a heartbeat that cannot be stored, in the adapter that gives it [Y426]", async () => {
  await using world = new World();
  const odd = queue<number>("odd");
  const refused: unknown[] = [];
  const work = route("work", { from: odd }).via("work", (_, ctx) => {
    try {
      ctx.heartbeat(() => undefined);
    } catch (error) {
      refused.push((error as { readonly code?: unknown }).code);
    }
    return undefined;
  });
  const pipeline = definePipeline("odd", { routes: [work] });
  const host = await world.clock.until(
    world.system.start(pipelineHost({ store: world.source, pipelines: [pipeline] })),
  );
  const run = await world.clock.until(host.start(pipeline, { messages: { to: odd, values: [1] } }));
  await world.clock.until(run.completed());
  expect(refused).toEqual(["ERR_FLOW_UNSTORABLE"]);
});
