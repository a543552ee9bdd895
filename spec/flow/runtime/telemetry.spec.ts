// What telemetry sees of durable flows.

import { expect, it } from "vitest";
import { defineFlow } from "../../../lib/flow/index.js";
import { prometheus, telemetry } from "../../../lib/service/index.js";
import { bench } from "./bench.js";

const flaky = defineFlow("flaky", async (flow, fails: number) => {
  const call = ({ attempt }: { readonly attempt: number }): number => {
    if (attempt <= fails) throw new Error("not yet");
    return attempt;
  };
  const done = await flow.step("call", call, {
    retry: { attempts: 3, backoff: { minMs: 1_000, jitter: 0 } },
  });
  await flow.sleep("1 hour");
  return done;
});

it("attempts of steps and ends of flows are counted, timed and emitted once, across replays [J22]", async () => {
  await using b = await bench([flaky]);
  const metrics = prometheus(b.system);
  await using stream = telemetry(b.system);
  const seen: unknown[] = [];
  stream.subscribe("flow:step", ({ id, key, outcome }) => seen.push([id, key, outcome]));
  stream.subscribe("flow:end", ({ id, outcome, durationMs }) =>
    seen.push([id, outcome, durationMs >= 3_600_000]),
  );
  const good = await b.until(b.flows.start(flaky, 1, { id: "good" }));
  await b.until(good.result());
  const bad = await b.until(b.flows.start(flaky, 9, { id: "bad" }));
  await expect(b.until(bad.result())).rejects.toThrow(/not yet/);
  expect(seen).toEqual([
    ["good", "call", "retried"],
    ["good", "call", "done"],
    ["good", "completed", true],
    ["bad", "call", "retried"],
    ["bad", "call", "retried"],
    ["bad", "call", "failed"],
    ["bad", "failed", false],
  ]);
  const text = metrics.text();
  expect(text).toMatch(/signalbox_flows_total\{.*flow="flaky",outcome="completed"\} 1/);
  expect(text).toMatch(/signalbox_flow_steps_total\{.*flow="flaky",kind="step",outcome="retried"\} 3/);
  expect(text).toMatch(/signalbox_flow_step_duration_seconds_count\{.*flow="flaky",kind="step"\} 5/);
});
