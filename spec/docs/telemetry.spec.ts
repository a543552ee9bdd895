// The guide's tables of events and of OpenTelemetry's instruments, against what a busy system emits.

import { readFileSync } from "node:fs";
import type { Attributes, Meter } from "@opentelemetry/api";
import type { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { instrument } from "signalbox/otel";
import { definePipeline, done, openQueues, queue, route, runPipeline } from "signalbox/pipeline";
import { telemetry } from "signalbox/service";
import { memory } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { CHANNELS } from "../../lib/service/telemetry/channels.js";
import type { TelemetryEventName } from "../../lib/service/telemetry/events.js";
import { everything } from "../service/telemetry/everything.js";

const PAGE = new URL("../../docs/guide/telemetry.md", import.meta.url);
const NAMES = Object.keys(CHANNELS) as TelemetryEventName[];

/** The rows of the table of events: the events of each, and all words of its other cells that are code. */
function eventRows(): { readonly events: readonly string[]; readonly words: ReadonlySet<string> }[] {
  const text = readFileSync(PAGE, "utf8");
  const table = text.slice(text.indexOf("| event | emitted when"));
  const lines = table.slice(0, table.indexOf("\n\n")).split("\n").slice(2);
  const code = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word as string);
  return lines.map((line) => {
    const [first = "", ...others] = line.slice(1).split("|");
    return { events: code(first), words: new Set(code(others.join("|"))) };
  });
}

/** Does what has events or metrics, in a system that was prepared. */
async function busy(prepare: (system: System) => void, atEnd = (): void => undefined): Promise<void> {
  await using all = await everything(prepare);
  const { system } = all;
  const flow = defineFlow("order", (ctx) => ctx.step("pay", () => 1));
  const flows = await system.start(flowHost({ store: memory(), flows: [flow] }));
  await (await flows.start(flow, undefined)).result();
  const lines = queue<string>("lines");
  const print = route("print", { from: lines }).via("out", () => undefined);
  const pipeline = definePipeline("print", { routes: [print] });
  await runPipeline(system, pipeline, { messages: { to: lines, values: ["a"] } });
  await using queues = await openQueues(system, { store: memory() });
  const orders = queues.queue<string>("orders");
  const handled = new Promise<void>((resolve) => {
    void orders.subscribe({}, () => {
      resolve();
      return done;
    });
  });
  await orders.publish("a");
  await handled;
  await queues.close();
  telemetry(system).sample();
  atEnd();
  await flows.stop();
}

/** A meter that notes which instruments there are, and which attributes they get. */
class NotingMeter {
  readonly instruments = new Map<string, { readonly kind: string; readonly attributes: Set<string> }>();
  readonly #reads: ((result: unknown) => void)[] = [];

  #made(kind: string, name: string): (value: number, attributes?: Attributes) => void {
    const known = this.instruments.get(name) ?? { kind, attributes: new Set<string>() };
    this.instruments.set(name, known);
    return (_value, attributes = {}) => {
      for (const key of Object.keys(attributes)) known.attributes.add(key);
    };
  }
  createCounter(name: string): object {
    return { add: this.#made("counter", name) };
  }
  createHistogram(name: string): object {
    return { record: this.#made("histogram", name) };
  }
  createObservableGauge(name: string): object {
    return { observe: this.#made("gauge", name) };
  }
  addBatchObservableCallback(read: (result: unknown) => void): void {
    this.#reads.push(read);
  }
  removeBatchObservableCallback(): void {}

  /** As the reader of a meter does. */
  collect(): void {
    const observe = (
      gauge: { observe(value: number, attributes: Attributes): void },
      value: number,
      attributes: Attributes,
    ): void => gauge.observe(value, attributes);
    for (const read of this.#reads) read({ observe });
  }

  table(): string {
    const rows = [...this.instruments]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(
        ([name, { kind, attributes }]) =>
          `| \`${name}\` | ${kind} | ${[...attributes].map((one) => `\`${one}\``).join(", ")} |`,
      );
    return ["| instrument | kind | attributes |", "|---|---|---|", ...rows].join("\n");
  }
}

describe("docs/guide/telemetry.md", () => {
  it("lists every event, and none besides [L28]", () => {
    expect(
      eventRows()
        .flatMap(({ events }) => events)
        .sort(),
    ).toEqual([...NAMES].sort());
  });

  it("names what each event tells [L28]", async () => {
    const seen = new Map<string, Set<string>>();
    await busy((system) => {
      const stream = telemetry(system);
      for (const name of NAMES)
        stream.subscribe(name, (event) => {
          const keys = seen.get(name) ?? new Set();
          seen.set(name, keys);
          for (const key of Object.keys(event)) keys.add(key);
        });
    });
    expect([...seen.keys()].sort()).toEqual([...NAMES].sort());
    // The text around the table explains these.
    const common = ["system", "node", "at", "span", "durationMs", "outcome"];
    const untold = eventRows().flatMap(({ events, words }) =>
      [...new Set(events.flatMap((event) => [...(seen.get(event) ?? [])]))]
        .filter((key) => !common.includes(key) && !words.has(key))
        .map((key) => `${events.join(", ")}: ${key}`),
    );
    expect(untold).toEqual([]);
  });

  it("lists the instruments of `instrument`: after a change, run this test with `--update` [L28]", async () => {
    const meter = new NotingMeter();
    await busy(
      (system) => void instrument(system, { tracer: false, meter: meter as unknown as Meter }),
      () => meter.collect(),
    );
    const text = readFileSync(PAGE, "utf8");
    const written = text.replace(/\| instrument \| kind[\s\S]*?\n(?!\|)/, `${meter.table()}\n`);
    await expect(written).toMatchFileSnapshot(PAGE.pathname);
  });
});
