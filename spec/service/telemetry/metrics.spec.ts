// What is on the page beside processes, calls and dispatches: pools, guards, HTTP servers, the host, and metrics of the user's own.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { System } from "signalbox";
import { httpServer, type PrometheusMetrics, prometheus } from "signalbox/service";
import { testClock } from "signalbox/testing";
import { afterEach, describe, expect, it } from "vitest";
import { production } from "../../../lib/process/production.js";
import { MAX_LABELS } from "../../../lib/service/telemetry/options.js";
import { RUNTIME_METRICS } from "../../../lib/service/telemetry/runtime.js";
import { macrotask } from "../../support/host.js";
import { everything } from "./everything.js";
import { parseExposition, parseOpenMetrics } from "./exposition.js";

const systems: System[] = [];
afterEach(async () => {
  for (const system of systems.splice(0)) await system.stop({ timeoutMs: 0 });
});

function page(options: Parameters<typeof prometheus>[1] = {}): PrometheusMetrics {
  const system = new System({ name: "shop", report: false });
  systems.push(system);
  return prometheus(system, options);
}

/** The samples of a family, as their labels and their value. */
function samples(text: string, name: string, parse = parseExposition): Record<string, number> {
  const family = parse(text).get(name);
  return Object.fromEntries(
    (family?.samples ?? [])
      .filter((one) => one.name === name || one.name.endsWith("_count"))
      .map(({ labels: { system: _, ...labels }, value }) => [Object.values(labels).join(" "), value]),
  );
}

describe("the page", () => {
  it("has what pools, guards and HTTP servers do, by names and never by paths [L17]", async () => {
    await using all = await everything();
    const text = all.metrics.text();
    const of = (name: string): Record<string, number> => samples(text, `signalbox_${name}`);
    expect(of("pool_jobs_total")).toEqual({ "tools fulfilled": 1, "tools rejected": 1, "tools deadline": 1 });
    expect(of("pool_job_wait_seconds")).toEqual({ tools: 2 });
    expect(of("pool_job_duration_seconds")).toEqual({ tools: 2 });
    expect(of("pool_queued")).toEqual({ tools: 0 });
    expect(of("breaker_calls_total")).toEqual({ "bank success": 1, "bank failure": 1, "bank rejected": 2 });
    expect(of("breaker_transitions_total")).toEqual({ "bank open": 1 });
    expect(of("breaker_state")).toEqual({ "bank closed": 0, "bank open": 1, "bank half-open": 0 });
    expect(of("limiter_requests_total")).toEqual({ "mail granted": 1, "mail refused": 2 });
    expect(of("limiter_wait_seconds")).toEqual({ mail: 1 });
    expect(of("bulkhead_requests_total")).toEqual({ "reports granted": 2, "reports refused": 1 });
    expect(of("bulkhead_running")).toEqual({ reports: 0 });
    expect(of("retry_calls_total")).toEqual({ "page failure": 1, "page success": 1 });
    expect(of("retry_attempts_total")).toEqual({ "page failure": 4, "page success": 1 });
    expect(samples(text, "http_server_request_duration_seconds")).toEqual({
      "GET /orders/:id 2xx": 2,
      "GET  4xx": 2,
      "_OTHER /orders/:id 2xx": 1,
    });
    expect(text).not.toContain("secret");
  });

  it("comes as the client accepts it, from an HTTP server or a listener of Node [L18]", async () => {
    const metrics = page();
    metrics.counter({ name: "orders_paid", help: 'Orders "paid".' }).add(2);
    metrics.histogram({ name: "basket", help: "Worth.", unit: "euros", buckets: [1, 2.5] }).observe(2);
    const system = systems[0] as System;
    const served = await system.start(httpServer(metrics, { port: 0, host: "127.0.0.1" }));
    const listener = createServer(metrics.listener).listen(0, "127.0.0.1");
    await new Promise((resolve) => listener.once("listening", resolve));
    const ports = [(await served.address()).port, (listener.address() as AddressInfo).port];
    const open = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
    for (const port of ports) {
      const get = (accept: string, method = "GET") =>
        fetch(`http://127.0.0.1:${port}/metrics`, { method, headers: { accept } });
      const plain = await get("*/*");
      expect([plain.status, plain.headers.get("content-type")]).toEqual([200, metrics.contentType]);
      expect(samples(await plain.text(), "orders_paid_total")).toEqual({ "": 2 });
      const given = await get(open);
      expect(given.headers.get("content-type")).toBe(
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
      );
      const text = await given.text();
      expect(samples(text, "orders_paid", parseOpenMetrics)).toEqual({ "": 2 });
      expect(text).toContain('# HELP orders_paid Orders \\"paid\\".\n# TYPE orders_paid counter\n');
      expect(text).toContain("# UNIT basket_euros euros\n");
      expect(text).toContain('basket_euros_bucket{system="shop",le="1.0"} 0\n');
      for (const accept of [
        "text/plain, application/openmetrics-text;q=0.4",
        "application/openmetrics-text;q=0",
      ])
        expect((await get(accept)).headers.get("content-type")).toBe(metrics.contentType);
      expect([(await get("*/*", "HEAD")).status, (await get("*/*", "POST")).status]).toEqual([200, 405]);
    }
    await new Promise((resolve) => listener.close(resolve));
  });

  it("has the host's event loop, heap and collections while it is on, and not of a simulated clock [L19]", async () => {
    const probes: string[] = [];
    const openRuntime: typeof production.openRuntime = (sink) => {
      probes.push("open");
      sink.observe(RUNTIME_METRICS.gc, 0.002, ["minor"]);
      return {
        gauges: (take) => take(RUNTIME_METRICS.heapUsed, 42, "new_space"),
        close: () => void probes.push("close"),
      };
    };
    const system = new System({ name: "shop", report: false, environment: { ...production, openRuntime } });
    systems.push(system);
    expect(probes).toEqual([]);
    const metrics = prometheus(system);
    const text = metrics.text();
    expect(samples(text, "v8js_memory_heap_used_bytes")).toEqual({ new_space: 42 });
    expect(samples(text, "v8js_gc_duration_seconds")).toEqual({ minor: 1 });
    metrics.close();
    expect(probes).toEqual(["open", "close"]);
    prometheus(system, { runtime: false }).close();
    expect(probes).toEqual(["open", "close"]);

    const real = page();
    const host = parseExposition(real.text());
    for (const name of [
      "v8js_memory_heap_used_bytes",
      "v8js_memory_heap_limit_bytes",
      "process_memory_usage_bytes",
    ])
      expect(Math.max(...(host.get(name)?.samples ?? []).map(({ value }) => value))).toBeGreaterThan(0);
    expect(host.has("nodejs_eventloop_utilization_ratio")).toBe(true);
    await using virtual = new System({ environment: testClock().environment, report: false });
    await using none = prometheus(virtual);
    expect(none.text()).not.toMatch(/nodejs|v8js|process_/);
  });
});

describe("metrics of your own", () => {
  it("are on the page, with labels that are checked and series that are bounded [L20]", () => {
    const metrics = page({ runtime: false });
    const paid = metrics.counter({
      name: "orders_paid",
      help: "Orders that were paid.",
      labels: ["currency"],
    });
    paid.add(1, { currency: "EUR" });
    paid.add(2, { currency: "EUR" });
    const open = metrics.gauge({ name: "baskets_open", help: "Open baskets." });
    open.set(5);
    open.add(-2);
    let looks = 0;
    metrics.gauge({ name: "looks", help: "Looks.", read: (gauge) => gauge.set(++looks) });
    const took = metrics.histogram({ name: "packing", help: "Packing.", unit: "seconds", labels: ["line"] });
    took.observe(0.2, { line: 1 });
    const text = metrics.text();
    expect(samples(text, "orders_paid_total")).toEqual({ EUR: 3 });
    expect(samples(text, "baskets_open")).toEqual({ "": 3 });
    expect(samples(text, "looks")).toEqual({ "": 1 });
    expect(samples(text, "packing_seconds")).toEqual({ "1": 1 });
    for (let i = 0; i < MAX_LABELS + 50; i++) paid.add(1, { currency: `user ${i}` });
    const series = samples(metrics.text(), "orders_paid_total");
    expect(Object.keys(series)).toHaveLength(MAX_LABELS + 1);
    expect(series.other).toBe(51);
    const long = metrics.counter({ name: "long", help: "Long.", labels: ["text"] });
    long.add(1, { text: "x\u0000".repeat(1_000_000) });
    expect(metrics.text().length).toBeLessThan(50_000);
  });

  it("refuse what is no metric, and labels that are not theirs [L20]", () => {
    const metrics = page({ runtime: false });
    const wrong = (fn: () => unknown): unknown => {
      try {
        return fn();
      } catch (error) {
        return (error as { path?: string }).path ?? error;
      }
    };
    const make = (options: object): unknown =>
      wrong(() => metrics.counter({ name: "fine", help: "Fine.", ...options } as never));
    for (const name of ["", "two words", "1st", "signalbox_calls", "http_server_x", "x_total", "x_count"])
      expect(make({ name })).toBe("name");
    expect(make({ help: "" })).toBe("help");
    expect(make({ unit: "m/s" })).toBe("unit");
    expect(make({ label: ["a"] })).toBe("label");
    for (const labels of [["a", "a"], ["system"], ["a b"], "a"]) expect(make({ labels })).toBe("labels");
    const fine = metrics.counter({ name: "fine", help: "Fine.", labels: ["kind"] });
    expect(make({})).toBe("name");
    expect(wrong(() => metrics.gauge({ name: "fine", help: "Fine." }))).toBe("name");
    expect(wrong(() => metrics.histogram({ name: "h", help: "H.", buckets: [2, 1] }))).toBe("buckets");
    expect(wrong(() => metrics.gauge({ name: "g", help: "G.", read: 1 as never }))).toBe("read");
    expect(wrong(() => fine.add(-1, { kind: "a" }))).toBe("by");
    expect(wrong(() => fine.add(1, { knd: "a" } as never))).toBe("labels.knd");
    expect(wrong(() => fine.add(1, {} as never))).toBe("labels.kind");
    expect(wrong(() => (fine as unknown as { add(by: number): void }).add(1))).toBe("labels.kind");
    const bare = metrics.counter({ name: "bare", help: "Bare." });
    // @ts-expect-error a metric without labels takes none
    expect(wrong(() => bare.add(1, { kind: "a" }))).toBe("labels.kind");
    // @ts-expect-error there is no such label
    wrong(() => fine.add(1, { colour: "red" }));
  });

  it("that throw while they are read are reported, and the page goes on [L20]", async () => {
    const lines: string[] = [];
    const system = new System({ name: "shop", report: (text) => void lines.push(text) });
    systems.push(system);
    const metrics = prometheus(system, { runtime: false });
    metrics.gauge({
      name: "broken",
      help: "Broken.",
      read: () => {
        throw new Error("no reading");
      },
    });
    metrics.gauge({
      name: "late",
      help: "Late.",
      read: async () => {
        throw new Error("too late");
      },
    });
    metrics.counter({ name: "fine", help: "Fine." }).add(1);
    expect(samples(metrics.text(), "fine_total")).toEqual({ "": 1 });
    await macrotask();
    for (const text of ["no reading", "too late"]) expect(lines.join("\n")).toContain(text);
  });
});
