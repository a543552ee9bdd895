// Heartbeats of long steps: what is written, what the next attempt gets, what people see.

import { expect, it } from "vitest";
import {
  defineFlow,
  type FlowDetails,
  type FlowHost,
  flowHost,
  openFlowOperations,
} from "../../../lib/flow/index.js";
import { HEARTBEAT_MS } from "../../../lib/host/background/heartbeats.js";
import { System } from "../../../lib/index.js";
import { memory } from "../../../lib/store/index.js";
import { testClock } from "../../../lib/testing/index.js";

const LINES = 16;
const LINE_MS = HEARTBEAT_MS / 4;

class World implements AsyncDisposable {
  readonly clock = testClock();
  readonly source = memory();
  /** What each attempt got of those before it. */
  readonly got: unknown[] = [];
  /** The line at which the first attempt fails. */
  failsAt: number | undefined;
  system: System = this.#start();
  readonly load = defineFlow("load", (flow, lines: number) =>
    flow.idempotent(
      "lines",
      async (step) => {
        this.got.push(step.lastHeartbeat);
        for (let line = Number(step.lastHeartbeat ?? 0); line < lines; line++) {
          await step.sleep(LINE_MS);
          step.heartbeat(line + 1);
          if (step.attempt === 1 && line + 1 === this.failsAt) throw new Error("half of it");
        }
        return lines;
      },
      { retry: { attempts: 2 } },
    ),
  );

  #start(): System {
    return new System({ environment: this.clock.environment, report: false });
  }

  host(): Promise<FlowHost> {
    return this.clock.until(this.system.start(flowHost({ store: this.source, flows: [this.load] })));
  }

  async die(): Promise<void> {
    this.source.lose();
    await this.clock.until(this.system.stop());
    this.system = this.#start();
  }

  async details(): Promise<FlowDetails> {
    const operations = await this.clock.until(openFlowOperations(this.system, this.source));
    const details = await this.clock.until(operations.inspect("a"));
    await this.clock.until(operations.close());
    return details;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clock.until(this.system.stop());
  }
}

it("gives the last heartbeat that was written to the attempt after a crash, and shows it [J204]", async () => {
  await using world = new World();
  await world.clock.until((await world.host()).start(world.load, LINES, { id: "a" }));
  await world.clock.advance(LINE_MS * (LINES / 2));
  expect((await world.details()).heartbeats).toEqual([
    ["lines", { at: expect.any(Number), progress: expect.any(Number) }],
  ]);
  await world.die();
  const flows = await world.host();
  await world.clock.until(flows.get("a").result());
  const [first, second] = world.got as number[];
  expect(first).toBeUndefined();
  // Written once in a while: the last lines are done again.
  expect(second).toBeGreaterThan(0);
  expect(second).toBeLessThanOrEqual(LINES / 2);
  expect((await world.details()).heartbeats).toBeUndefined();
});

it("gives the last heartbeat to the attempt after a failure [J204]", async () => {
  await using world = new World();
  world.failsAt = LINES / 2;
  const flows = await world.host();
  const run = await world.clock.until(flows.start(world.load, LINES, { id: "a" }));
  expect(await world.clock.until(run.result())).toBe(LINES);
  expect(world.got).toEqual([undefined, LINES / 2]);
});

it("refuses a heartbeat that cannot be stored, in the step that gives it", async () => {
  await using world = new World();
  const bad = defineFlow("bad", (flow, _: null) => flow.step("beat", (step) => step.heartbeat(() => 1)));
  const flows = await world.clock.until(world.system.start(flowHost({ store: world.source, flows: [bad] })));
  const run = await world.clock.until(flows.start(bad, null, { id: "a" }));
  await expect(world.clock.until(run.result())).rejects.toThrow("the heartbeat of step");
});
