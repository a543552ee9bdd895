// Prometheus' text format: what is counted, and that a parser of the format takes it.

import { ConsumerGroup, consumer, defineServer, refuse, System, supervisor } from "signalbox";
import { type PrometheusMetrics, prometheus, telemetry } from "signalbox/service";
import { describe, expect, it } from "vitest";
import { MAX_LABELS } from "../../../lib/service/telemetry/options.js";
import { parseExposition } from "./exposition.js";

const Stock = defineServer({
  label: "stock",
  init: (_ctx, left: number) => ({ left }),
  calls: {
    take: (state, n: number) => {
      if (n > state.left) return refuse(new RangeError("too many"));
      state.left -= n;
      return state.left;
    },
  },
  casts: {
    restock: (state, n: number) => {
      if (n < 0) throw new Error("spilled");
      state.left += n;
    },
  },
});

function valuesOf(metrics: PrometheusMetrics, name: string): Record<string, number> {
  const family = parseExposition(metrics.text()).get(`signalbox_${name}`);
  return Object.fromEntries(
    (family?.samples ?? [])
      .filter((one) => one.name === `signalbox_${name}` || one.name.endsWith("_count"))
      .map(({ labels: { system: _, ...labels }, value }) => [Object.values(labels).join(" "), value]),
  );
}

describe("the text", () => {
  it("has every count exactly, and is what the format says [L11]", async () => {
    await using system = new System({ name: "shop", report: false });
    await using metrics = prometheus(system);
    await system.start(
      supervisor({
        label: "floor",
        intensity: 5,
        children: [{ id: "stock", start: Stock, args: [100], name: "stock" }],
      }),
    );
    const stock = Stock.at(system, "stock");
    for (let i = 0; i < 40; i++) await stock.call.take(1);
    await Promise.allSettled([stock.call.take(1_000)]);
    for (let i = 0; i < 5; i++) stock.cast.restock(1);
    await system.idle();
    stock.cast.restock(-1);
    await system.idle();
    const group = new ConsumerGroup<number>({ name: "pickers", patienceMs: 1_000 });
    let crashes = 1;
    const work = (n: number): number => {
      if (crashes-- > 0) throw new Error("dropped");
      return n;
    };
    for (let i = 0; i < 2; i++) system.spawn(consumer<number>(work, { group }), { label: "picker" });
    for (let i = 0; i < 20; i++) await system.dispatch(group, i);
    const sink = system.spawn<number>({ handle: () => new Promise(() => undefined) }, { label: "sink" });
    for (let i = 0; i < 4; i++) system.send(sink, i);
    system.send("nobody", 1);
    await system.idle();
    expect(valuesOf(metrics, "calls_total")).toEqual({ "stock take replied": 40, "stock take refused": 1 });
    expect(valuesOf(metrics, "call_duration_seconds")).toEqual({ "stock take": 2 });
    expect(valuesOf(metrics, "casts_total")).toEqual({ "stock restock": 6 });
    expect(valuesOf(metrics, "exits_total")).toEqual({ "stock crash": 1, "picker crash": 1 });
    expect(valuesOf(metrics, "restarts_total")).toEqual({ "floor stock false": 1 });
    expect(valuesOf(metrics, "dispatches_total")).toEqual({ "pickers delivered": 20 });
    expect(valuesOf(metrics, "dispatch_attempts_total")).toEqual({
      "pickers crashed": 1,
      "pickers settled": 20,
    });
    expect(valuesOf(metrics, "dispatch_duration_seconds")).toEqual({ pickers: 1 });
    expect(valuesOf(metrics, "dead_letters_total")).toEqual({ "": 1 });
    expect(valuesOf(metrics, "mailbox_depth")).toMatchObject({ sink: 3, stock: 0 });
    expect(valuesOf(metrics, "mailbox_deepest")).toMatchObject({ sink: 3 });
    expect(valuesOf(metrics, "processes")).toMatchObject({ floor: 1, stock: 1, picker: 1, sink: 1 });
    // 41 calls and 5 casts before the crash, of which a crashed activation's count is lost.
    expect(valuesOf(metrics, "handled_total")).toMatchObject({ stock: 46, sink: 1 });
  });

  it("escapes what labels hold", async () => {
    const name = 'a "quoted" \\ name\nof two lines';
    await using system = new System({ name, report: false });
    await using metrics = prometheus(system, { timeOneIn: 1, bucketsSeconds: [1, 2] });
    const label = 'back\\slash "quote"\nline';
    const sink = system.spawn<number>({ handle: () => undefined }, { label });
    system.send(sink, 1);
    await system.idle();
    const handled = parseExposition(metrics.text()).get("signalbox_handled_total");
    expect(handled?.samples).toEqual([
      { name: "signalbox_handled_total", labels: { system: name, label }, value: 1 },
    ]);
    const times = parseExposition(metrics.text()).get("signalbox_message_duration_seconds");
    expect(times?.samples.map(({ labels, value }) => [labels.le, value])).toEqual([
      ["1", 1],
      ["2", 1],
      ["+Inf", 1],
      [undefined, expect.any(Number)],
      [undefined, 1],
    ]);
  });

  it("has a bounded number of series, whatever the labels [L10]", async () => {
    await using system = new System({ report: false });
    const bucketsSeconds = [1];
    await using metrics = prometheus(system, { timeOneIn: 1, bucketsSeconds });
    await using stream = telemetry(system);
    const labels = MAX_LABELS + 50;
    for (let i = 0; i < labels; i++) {
      const pid = system.spawn<number>({ handle: () => undefined }, { label: `user ${i}` });
      system.send(pid, i);
    }
    await system.idle();
    expect(stream.sample()).toHaveLength(MAX_LABELS + 1);
    expect(stream.sample().find(({ label }) => label === "other")?.processes).toBe(50);
    const handled = valuesOf(metrics, "handled_total");
    expect(Object.keys(handled)).toHaveLength(MAX_LABELS + 1);
    expect(handled.other).toBe(50);
    for (const { samples } of parseExposition(metrics.text()).values())
      expect(samples.length).toBeLessThanOrEqual((MAX_LABELS + 1) * (bucketsSeconds.length + 3));
    const group = (i: number): ConsumerGroup<number> =>
      new ConsumerGroup<number>({ name: `group ${i}`, patienceMs: 0 });
    for (let i = 0; i < labels; i++) await system.dispatch(group(i), i).catch(() => undefined);
    const dispatches = valuesOf(metrics, "dispatches_total");
    expect(Object.keys(dispatches)).toHaveLength(MAX_LABELS + 1);
    expect(dispatches["other other"]).toBe(50);
  });

  it("refuses options that are none, and a second count of one system", async () => {
    await using system = new System({ report: false });
    const wrong = (options: unknown): unknown => {
      try {
        return prometheus(system, options as never);
      } catch (error) {
        return (error as { path?: string }).path;
      }
    };
    expect(wrong({ timeOneIn: 0 })).toBe("timeOneIn");
    expect(wrong({ timeOnIn: 1 })).toBe("timeOnIn");
    for (const bucketsSeconds of [[], [0], [2, 1], [1, Number.POSITIVE_INFINITY], "1", [1, Number.NaN]])
      expect(wrong({ bucketsSeconds })).toBe("bucketsSeconds");
    const metrics = prometheus(system);
    expect(wrong({})).toBe("system");
    metrics.close();
    metrics.close();
    expect(system.kernel.taps).toBeUndefined();
    prometheus(system).close();
  });
});
