// A message that ends the machine of whichever host works on it, where several hosts share the execution.

import {
  deduplicate,
  definePipeline,
  type PipelineDefinition,
  type PipelineHost,
  pipelineHost,
  queue,
  route,
} from "signalbox/pipeline";
import { openStore, type Row } from "signalbox/store";
import type { SimulatedNode } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { deadLetters, executions, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { EvidenceBox } from "../support/evidence-box.js";
import { explored } from "../support/proof.js";
import { insisted } from "./simulated/play.js";

/** How often hosts die over twins. */
const CRASHES = 6;

describe("a message that ends each host which works on it", () => {
  it("becomes a dead letter, and no other message does (bug 15) [Y33]", async () => {
    await explored(
      async (sim) => {
        const words = queue<string>("words");
        const store = sim.store({ shared: true });
        const nodes: Record<string, { crash(): void }> = {};
        const places = { a: new EvidenceBox(), b: new EvidenceBox() };
        const seen = new Set<string>();
        let deaths = 0;
        const pipeline = (name: "a" | "b"): PipelineDefinition =>
          definePipeline("poison", {
            routes: [
              route("work", {
                ...{ from: words, concurrency: 2 },
              }).via("work", async (word, { id }) => {
                await sim.sleep(1);
                if (word !== "POISON") return void seen.add(word);
                deaths++;
                places[name].end({ subject: `message:1/${id}`, kind: "exit" });
                nodes[name]?.crash();
                return new Promise<undefined>(() => undefined);
              }),
            ],
          });
        const boot =
          (name: "a" | "b") =>
          (node: SimulatedNode): Promise<PipelineHost> =>
            node
              .system()
              .start(
                pipelineHost({ store, pipelines: [pipeline(name)], evidence: places[name], drainMs: 1 }),
              );
        const a = sim.node("a", boot("a"));
        const b = sim.node("b", boot("b"));
        Object.assign(nodes, { a, b });
        const values = ["a", "b", "c", "POISON", "d", "e", "f", "g"];
        await insisted(sim, async () =>
          (await a.ready()).start(pipeline("a"), { id: "one", messages: { to: words, values } }),
        );
        const reader = await openStore(sim.system({ name: "reader" }), store, [PIPELINE_SCHEMA]);
        for (;;) {
          const [row] = await reader.scan(executions, {});
          if (row?.ended != null) break;
          expect(deaths).toBeLessThan(20);
          await sim.sleep(5_000);
          for (const node of [a, b]) if (!node.powered) node.restart();
        }
        const [row] = await reader.scan(executions, {});
        expect(row).toMatchObject({ status: "completed", done: 8, dead: 1, pending: 0 });
        const [letter] = await reader.scan(deadLetters, {});
        expect(letter?.body).toBe('"POISON"');
        expect([...seen].sort()).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
        await reader.close();
      },
      { quick: 2, share: 0.1, seed: 1 },
    );
  });
});

describe("messages with one key whose hosts end over and over", () => {
  it("are all settled, and one of each key passes, though their steps refuse each other [Y136]", async () => {
    await explored(
      async (sim) => {
        const twins = queue<{ readonly key: string; readonly n: number }>("twins");
        const store = sim.store({ shared: true });
        const nodes: Record<string, { crash(): void }> = {};
        const passed: string[] = [];
        let crashes = 0;
        const pipeline = (name: string): PipelineDefinition =>
          definePipeline("twins", {
            routes: [
              route("once", {
                ...{ from: twins, concurrency: 2 },
              })
                .via("slow", async (twin) => {
                  await sim.sleep(sim.oneOf([0, 1, 2], "how long it takes"));
                  if (crashes >= CRASHES || sim.choose(2, "whether its host dies") === 0) return twin;
                  crashes++;
                  nodes[name]?.crash();
                  return new Promise<undefined>(() => undefined);
                })
                .via(deduplicate<{ readonly key: string }>("once", { key: ({ key }) => key }))
                .via("late", async (twin, ctx) => {
                  await sim.sleep(sim.oneOf([0, 1, 2], "how late it is"));
                  passed.push(`${twin.key} ${ctx.id}`);
                  return undefined;
                }),
            ],
          });
        const boot =
          (name: string) =>
          (node: SimulatedNode): Promise<PipelineHost> =>
            node.system().start(pipelineHost({ store, pipelines: [pipeline(name)], drainMs: 1 }));
        const a = sim.node("a", boot("a"));
        const b = sim.node("b", boot("b"));
        Object.assign(nodes, { a, b });
        const values = [0, 1, 2, 3, 4, 5].map((n) => ({ key: `k${n >> 1}`, n }));
        await insisted(sim, async () =>
          (await a.ready()).start(pipeline("a"), { id: "one", messages: { to: twins, values } }),
        );
        const reader = await openStore(sim.system({ name: "reader" }), store, [PIPELINE_SCHEMA]);
        let row: Row<typeof executions> | undefined;
        for (let looks = 0; ; looks++) {
          [row] = await reader.scan(executions, {});
          sim.sometimes("several are in work as a host ends", crashes > 1);
          if (row?.ended != null) break;
          expect(looks).toBeLessThan(200);
          await sim.sleep(1_000);
          for (const node of [a, b]) if (!node.powered) node.restart();
        }
        expect(row).toMatchObject({ status: "completed", done: 6, dead: 0, pending: 0 });
        expect([...new Set(passed.map((one) => one.split(" ")[0]))].sort()).toEqual(["k0", "k1", "k2"]);
        await reader.close();
      },
      { quick: 4, share: 0.02, seed: 1, sometimes: ["several are in work as a host ends"] },
    );
  });
});
