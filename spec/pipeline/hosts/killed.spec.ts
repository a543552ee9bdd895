// What a host was about to do in the background when it was killed.

import { System } from "signalbox";
import { definePipeline, pipelineHost, queue, route } from "signalbox/pipeline";
import { memory, type Store, type StoreSource } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { StoreUnreachableError } from "../../../lib/store/postgres/errors.js";

const EVERY_MS = 60_000;
const from = queue<string>("lines");
const pipeline = definePipeline("lines", { routes: [route("work", { from }).via("work", () => undefined)] });

/** A store whose clock is not read while a test holds it. */
class HeldClock implements StoreSource {
  readonly label = "held";
  readonly #inner = memory();
  held: Promise<never> | undefined;
  readings = 0;

  async open(...args: Parameters<StoreSource["open"]>): Promise<Store> {
    const store = await this.#inner.open(...args);
    const clock = (): Promise<number> => {
      if (this.held === undefined) return store.clock();
      this.readings++;
      return this.held;
    };
    return new Proxy(store, {
      get(target, name) {
        const value: unknown = name === "clock" ? clock : Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}

test("a store that fails the background work of a killed host fails no other process [Y582]", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const clock = testClock();
  const system = new System({ report: false, environment: clock.environment });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const store = new HeldClock();
  const retention = { every: EVERY_MS, completed: EVERY_MS };
  await clock.until(
    system.start(pipelineHost({ store, pipelines: [pipeline], retention, name: "pipelines" })),
  );
  let fail!: (error: Error) => void;
  store.held = new Promise<never>((_, reject) => {
    fail = reject;
  });
  await clock.advance(EVERY_MS);
  expect(store.readings).toBeGreaterThan(0);
  system.exit(system.whereis("pipelines") as never, "kill");
  fail(new StoreUnreachableError("lost", 1, "nothing", undefined));
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});
