import { describe, expect, test } from "vitest";
import { TupleFailedError } from "../../../lib/pipeline/adapters/errors.js";
import { topologyInlet } from "../../../lib/pipeline/adapters/topology.js";
import { System } from "../../../lib/system.js";
import { bolt, field, grouping, topology } from "../../../lib/topology/index.js";
import { Bench, cleanup } from "./support.js";

const after = cleanup();

describe("messages into a topology", () => {
  const seen: string[] = [];
  const inlet = topologyInlet({ fields: { text: field.text } });
  const split = bolt({
    input: { text: field.text },
    streams: { words: { word: field.text } },
    execute: ({ values }, { emit }) => {
      for (const word of values.text.split(" ")) emit.words({ word });
    },
  });
  const see = bolt({
    input: { word: field.text },
    execute: ({ values: { word } }) => {
      if (word === "bad") throw new Error("bad word");
      seen.push(word);
    },
  });
  const words = topology("words", { retries: 0 })
    .spout("messages", inlet.spout)
    .bolt("split", split, { from: { "messages.items": grouping.shuffle() } })
    .bolt("see", see, { from: { "split.words": grouping.shuffle() } })
    .build();

  test("go on when their whole tree is acked, and fail with it", async () => {
    const system = new System({ report: false });
    after.add(() => system.stop({ timeoutMs: 0 }));
    const at = new Bench(system);
    const fed = inlet.adapter<string>("words", (text) => ({ text }));
    // The topology need not run yet.
    const early = at.pass(fed, "to be");
    const running = await system.start(words);
    expect(await early).toEqual(["to be"]);
    expect(seen).toEqual(["to", "be"]);
    expect(await at.pass(inlet.adapter("whole"), { text: "or" })).toEqual([{ text: "or" }]);
    const error = await at.pass(fed, "bad").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TupleFailedError);
    expect(error).toMatchObject({ code: "ERR_PIPELINE_TUPLE_FAILED" });
    await running.stop();
  });

  test("wait for a topology no longer than their attempt", async () => {
    const system = new System({ report: false });
    after.add(() => system.stop({ timeoutMs: 0 }));
    const at = new Bench(system);
    const { result } = at.attempt(inlet.adapter("words"), { text: "late" });
    at.abort.abort(new Error("too late"));
    await expect(result).rejects.toThrow("too late");
    const running = await system.start(words);
    const other = new Bench(system);
    await other.pass(inlet.adapter("words"), { text: "next" });
    expect(seen).not.toContain("late");
    await running.stop();
  });
});
