// What the row of a flow says while a host holds it: `waiting` when the flow only waits, `running` when its code or a step runs.

import { describe, expect, it } from "vitest";
import { type AnyFlow, defineFlow } from "../../../lib/flow/index.js";
import { memory } from "../../../lib/store/index.js";
import { gate } from "../../support/gate.js";
import { NoAnswerError, watched } from "../defects/support.js";
import { bench } from "./bench.js";

/** Longer than a wait that does not show, and shorter than one after which a flow leaves memory. */
const SOON_MS = 100;

const nap = defineFlow("nap", (flow, _: undefined) => flow.sleep("1 hour"));

/** One flow for each way in which a flow waits. */
const WAITS: readonly AnyFlow[] = [
  nap,
  defineFlow("mail", (flow, _: undefined) => flow.receive("go")),
  defineFlow("mail or time", (flow, _: undefined) => flow.receive("go", { timeout: "1 hour" })),
  defineFlow("child", (flow, _: undefined) => flow.call(nap, undefined)),
  defineFlow("retry", (flow, _: undefined) =>
    flow.step("fails", () => Promise.reject(new Error("away")), {
      retry: { attempts: 2, backoff: { minMs: 600_000, maxMs: 600_000, jitter: 0 } },
    }),
  ),
  defineFlow("several", (flow, _: undefined) => Promise.race([flow.receive("go"), flow.sleep("1 hour")])),
];

describe("the status of a flow that a host holds", () => {
  it.each(WAITS.map((flow) => [flow.name, flow] as const))(
    "is `waiting` soon after it began to wait: %s [J480]",
    async (_, flow) => {
      await using b = await bench([...new Set([nap, flow])]);
      const before = b.system.population;
      const run = await b.until(b.flows.start(flow as typeof nap, undefined));
      expect((await b.until(run.info())).status).toBe("running");
      await b.clock.advance(SOON_MS);
      expect((await b.until(run.info())).status).toBe("waiting");
      // It is in memory.
      expect(b.system.population).toBeGreaterThan(before);
    },
  );

  it("is `running` again soon after its code or a step runs, in a second attempt as well [J480]", async () => {
    let open = gate();
    const work = defineFlow("work", async (flow, _: undefined) => {
      await flow.receive("go");
      await flow.step(
        "long",
        ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("away")) : open.promise),
        {
          retry: { attempts: 2, backoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 } },
        },
      );
      await flow.receive("go");
      open = gate();
      await flow.step("longer", () => open.promise);
    });
    await using b = await bench([work]);
    const run = await b.until(b.flows.start(work, undefined));
    const soon = async (): Promise<string> => {
      await b.clock.advance(SOON_MS);
      return (await b.until(run.info())).status;
    };
    expect(await soon()).toBe("waiting");
    await b.until(run.send("go", undefined));
    expect(await soon()).toBe("waiting");
    await b.clock.advance(1_000);
    expect(await soon()).toBe("running");
    open.open();
    expect(await soon()).toBe("waiting");
    await b.until(run.send("go", undefined));
    expect(await soon()).toBe("running");
    open.open();
    await b.until(run.result());
    expect(await soon()).toBe("completed");
  });

  it("is written once for a wait that lasts, and not at all for short waits and for steps [J481]", async () => {
    const written: string[] = [];
    const store = watched(memory(), (_method, [given]) => {
      for (const [, status] of JSON.stringify(given ?? null).matchAll(/"status":"(running|waiting)"/g))
        written.push(status as string);
    });
    const naps = defineFlow("naps", async (flow, ms: number) => {
      for (let i = 0; i < 10; i++) {
        await flow.sleep(ms);
        await flow.step(`step ${i}`, () => undefined);
      }
    });
    await using b = await bench([naps], { store });
    const done = async (ms: number): Promise<readonly string[]> => {
      await b.until(b.flows.start(naps, ms).then((run) => run.result()));
      await b.clock.advance(SOON_MS);
      return written.splice(0);
    };
    const start = ["running"];
    expect(await done(40)).toEqual(start);
    // It works only for a moment in between, so `waiting` stays.
    expect(await done(1_000)).toEqual([...start, "waiting"]);
  });

  it("keeps no flow from the hospital, from its discharge, nor from a kill [J482]", async () => {
    let runs = 0;
    const mail = defineFlow("mail", (flow, _: undefined) => {
      runs++;
      return flow.receive<string>("go");
    });
    await using b = await bench([mail]);
    const run = await b.until(b.flows.start(mail, undefined, { id: "a" }));
    await b.clock.advance(SOON_MS);
    await b.until(b.flows.hospital.observe("a", "to look at it"));
    await b.clock.advance(SOON_MS);
    expect((await b.until(run.info())).status).toBe("hospitalized");
    await b.until(b.flows.hospital.discharge({}));
    await b.clock.advance(SOON_MS);
    expect([(await b.until(run.info())).status, runs]).toEqual(["waiting", 2]);
    await b.until(run.kill());
    await b.clock.advance(SOON_MS);
    expect((await b.until(run.info())).status).toBe("killed");
  });

  it("lets the next host take a flow whose host was killed [J482]", async () => {
    const store = memory();
    const mail = defineFlow("mail", (flow, _: undefined) => flow.receive<string>("go"));
    const first = await bench([mail], { store, name: "host" });
    const { clock } = first;
    await first.until(first.flows.start(mail, undefined, { id: "a" }));
    await clock.advance(SOON_MS);
    first.system.exit("host", "kill");
    await clock.advance(60_000);
    await using second = await bench([mail], { store, clock });
    const run = second.flows.get<string>("a");
    await second.until(run.send("go", "went"));
    expect(await second.until(run.result())).toBe("went");
    await first[Symbol.asyncDispose]();
  });

  it.each(["the write", "its answer"])("costs no flow its end when %s is lost [J482]", async (what) => {
    let lost = 0;
    const lose = (_method: string, [given]: readonly unknown[]): void => {
      if (!JSON.stringify(given ?? null).includes('"status":"waiting"') || lost > 0) return;
      lost++;
      throw new NoAnswerError("no answer");
    };
    const keep = (): void => undefined;
    const store = watched(memory(), what === "the write" ? lose : keep, what === "the write" ? keep : lose);
    const mail = defineFlow("mail", (flow, _: undefined) => flow.receive<string>("go"));
    await using b = await bench([mail], { store });
    const run = await b.until(b.flows.start(mail, undefined));
    await b.clock.advance(SOON_MS);
    expect(lost).toBe(1);
    await b.until(run.send("go", "went"));
    expect(await b.until(run.result())).toBe("went");
  });
});
