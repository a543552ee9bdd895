// What Storm has no form for, or does in another way: each kind of finding, by name and place.

import { readFileSync } from "node:fs";
import { leastLoaded } from "signalbox";
import { fluxDefinition, StormExportError, type StormFinding, stormFindings } from "signalbox/storm";
import {
  batchBolt,
  bolt,
  field,
  grouping,
  shellBolt,
  shellSpout,
  spout,
  spoutFrom,
  type Topology,
  topology,
  tumbling,
  windowBolt,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { copies } from "../../support/copies.js";

const TEXT = { text: field.text };
const N = { n: field.number };
const numbers = spout({ streams: { items: N }, next: () => undefined });
const sink = bolt({ input: N, execute: () => undefined });
const items = { "numbers.items": grouping.shuffle() };
const nothing = (): undefined => undefined;
const shell = { command: "python3", args: ["a.py"], input: N };
const shellLines = {
  command: "python3",
  args: ["lines.py"],
  streams: { items: TEXT },
  config: { retries: 0 },
};

type Config = Parameters<typeof topology>[1];
const reads = (definition: unknown, placement: object = {}, config: Config = {}): Topology =>
  topology("t", config)
    .spout("numbers", numbers)
    .bolt("a", definition as typeof sink, { from: items, ...placement })
    .build();
const shellSource = (options: object = {}, placement: object = {}): Topology =>
  topology("t")
    .spout("lines", shellSpout({ ...shellLines, ...options }), placement)
    .bolt("a", bolt({ input: TEXT, execute: nothing }), { from: { "lines.items": grouping.all() } })
    .build();
const threads = { on: () => nothing as never };

/** A topology with exactly the named finding, and its place. */
const EACH: Readonly<
  Record<string, readonly [effect: StormFinding["effect"], place: string, make: () => Topology]>
> = {
  "custom-grouping": [
    "blocks",
    "a <- numbers.items",
    () => reads(sink, { from: { "numbers.items": leastLoaded() } }),
  ],
  "direct-beside-others": [
    ...(["blocks", "b <- numbers.items"] as const),
    () =>
      topology("t")
        .spout("numbers", numbers)
        .bolt("a", sink, { from: items })
        .bolt("b", sink, { from: { "numbers.items": grouping.direct() } })
        .build(),
  ],
  "placed-bolt": ["blocks", "a", () => reads(sink, { on: threads })],
  "shared-iterable": [
    ...(["blocks", "numbers"] as const),
    () =>
      topology("t")
        .spout("numbers", spoutFrom([{ n: 1 }], { fields: N }), { tasks: 2 })
        .bolt("a", sink, { from: { "numbers.items": grouping.all() } })
        .build(),
  ],
  "shell-conf": ["blocks", "a", () => reads(shellBolt({ ...shell, conf: { when: new Date(0) } }))],
  "shell-cwd": ["blocks", "a", () => reads(shellBolt({ ...shell, cwd: "/" }))],
  "shell-metrics": ["blocks", "a", () => reads(shellBolt({ ...shell, onMetrics: nothing }))],
  "acker-capacity": ["differs", "t: ackerCapacity", () => reads(sink, {}, { ackerCapacity: 5_000 })],
  ackers: ["differs", "t: ackers", () => reads(sink, {}, { ackers: 8 })],
  batch: ["differs", "a", () => reads(batchBolt({ input: N, size: 5, execute: nothing }))],
  "check-values": ["differs", "a: checkValues", () => reads(shellBolt(shell), { checkValues: true })],
  debug: ["differs", "a: debug", () => reads(sink, { debug: true })],
  "direct-emit": [
    ...(["differs", "a <- numbers.items"] as const),
    () => reads(sink, { from: { "numbers.items": grouping.direct() } }),
  ],
  drain: ["differs", "t: drainMs", () => reads(sink, {}, { drainMs: 0 })],
  "event-window": [
    ...(["differs", "a"] as const),
    () =>
      reads(
        windowBolt({
          input: N,
          window: tumbling({ ms: 10, by: ({ n }: { n: number }) => n }),
          execute: nothing,
        }),
      ),
  ],
  flush: ["differs", "a", () => reads(bolt({ input: N, execute: nothing, flush: nothing }))],
  "iterable-again": [
    ...(["differs", "numbers"] as const),
    () =>
      topology("t")
        .spout("numbers", spoutFrom([{ n: 1 }], { fields: N }))
        .bolt("a", sink, { from: { "numbers.items": grouping.all() } })
        .build(),
  ],
  "json-values": [
    ...(["differs", "numbers.items"] as const),
    () =>
      topology("t")
        .spout("numbers", spout({ streams: { items: { n: field.of<Date>() } }, next: nothing }))
        .bolt("a", bolt({ input: { n: field.of<Date>() }, execute: nothing }), {
          from: { "numbers.items": grouping.all() },
        })
        .build(),
  ],
  "message-timeout": ["differs", "t: messageTimeoutMs", () => reads(sink, {}, { messageTimeoutMs: 1_500 })],
  "mixed-anchoring": [
    ...(["differs", "b <- numbers.items"] as const),
    () =>
      topology("t")
        .spout("numbers", numbers)
        .bolt("a", sink, { from: items })
        .bolt("b", sink, { from: { "numbers.items": { anchored: false } } })
        .build(),
  ],
  name: [
    ...(["differs", "größe"] as const),
    () => topology("größe").spout("numbers", numbers).bolt("a", sink, { from: items }).build(),
  ],
  "receive-buffer": ["differs", "a: receiveBuffer", () => reads(sink, { receiveBuffer: 9 })],
  restarts: ["differs", "t: restarts", () => reads(sink, {}, { restarts: 1 })],
  "restarts-backoff": [
    ...(["differs", "t: restartsBackoff"] as const),
    () => reads(sink, {}, { restartsBackoff: { minMs: 1, maxMs: 2 } }),
  ],
  "sample-rate": ["differs", "a: sampleRate", () => reads(sink, { sampleRate: 1 })],
  "shell-dead": [
    ...(["differs", "lines.dead"] as const),
    () =>
      topology("t")
        .spout("lines", shellSpout(shellLines))
        .bolt("a", bolt({ input: { attempts: field.number }, execute: nothing }), {
          from: { "lines.dead": { grouping: grouping.all() } },
        })
        .bolt("b", bolt({ input: TEXT, execute: nothing }), { from: { "lines.items": grouping.all() } })
        .build(),
  ],
  "shell-key": ["differs", "a", () => reads(shellBolt({ ...shell, conf: { "topology.workers": 2 } }))],
  "shell-limits": ["differs", "a", () => reads(shellBolt({ ...shell, maxHeld: 1, graceMs: 5 }))],
  "shell-path": ["differs", "lines", () => shellSource({ env: { PATH: "/bin" } })],
  "shell-restarts": ["differs", "a", () => reads(shellBolt(shell), { intensity: 1 })],
  "shell-retries": ["differs", "lines", () => shellSource({}, { retries: 2 })],
  "shell-tick": ["differs", "a", () => reads(shellBolt({ ...shell, config: { tickMs: 1_500 } }))],
  "shell-timeout": ["differs", "a", () => reads(shellBolt({ ...shell, timeoutMs: 1_500 }))],
  "spout-wait": [
    ...(["differs", "numbers: spoutWaitMs"] as const),
    () =>
      topology("t").spout("numbers", numbers, { spoutWaitMs: 5 }).bolt("a", sink, { from: items }).build(),
  ],
  "unread-stream": [
    ...(["differs", "numbers.more"] as const),
    () =>
      topology("t")
        .spout("numbers", spout({ streams: { items: N, more: N }, next: nothing }))
        .bolt("a", sink, { from: items })
        .build(),
  ],
  window: [
    ...(["differs", "a"] as const),
    () => reads(windowBolt({ input: N, window: tumbling({ count: 5 }), execute: nothing })),
  ],
};

/** `json-values` of the stream of dead letters, whose values have any type. */
const beside = ({ code, place }: StormFinding): boolean => code === "json-values" && place === "lines.dead";

describe("a finding", () => {
  it("has a code of the table that users read, with the effect there, and a test here [N1441]", () => {
    const page = readFileSync(new URL("../../../lib/topology/storm/finding.ts", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^ \* \| `([\w-]+)` \| (blocks|differs) \|/gm)].map(([, code, effect]) => [
      code,
      effect,
    ]);
    expect(rows).toEqual(Object.entries(EACH).map(([code, [effect]]) => [code, effect]));
  });

  it.each(Object.entries(EACH))(
    "of the code %s names its place, and what to do instead [N1441]",
    (code, [effect, place, make]) => {
      const findings = stormFindings(make()).filter((one) => !beside(one));
      expect(findings.map((one) => [one.effect, one.code, one.place])).toEqual([[effect, code, place]]);
      const [{ text, instead } = { text: "", instead: "" }] = findings;
      expect(text).toMatch(/^\S.*\.$/);
      expect(instead).toMatch(/^\S.*\.$/);
      if (effect === "differs") expect(fluxDefinition(make()).name).not.toBe("");
      else expect(() => fluxDefinition(make())).toThrow(StormExportError);
    },
  );

  it("is there for nothing else: a plain topology has none", () => {
    expect(
      stormFindings(reads(sink, { tasks: 4, executors: 2 }, { maxPending: 7, messageTimeoutMs: 5_000 })),
    ).toEqual([]);
  });
});

it("the error of an export lists each place that blocks, and has all findings", () => {
  const make = (): Topology => reads(shellBolt({ ...shell, cwd: "/", onMetrics: nothing, maxHeld: 1 }));
  expect(() => fluxDefinition(make())).toThrow(
    /a: its program runs in .* Instead: .* a: its program sends metrics/,
  );
  expect(() => fluxDefinition(make())).toThrow(
    expect.objectContaining({ code: "ERR_STORM_EXPORT", topology: "t", findings: stormFindings(make()) }),
  );
});

it("a topology of another copy of the library is described in the same way [N1443]", async () => {
  const other = await copies(1, "topology/index.ts");
  try {
    const built = (library: typeof import("signalbox/topology")): Topology => {
      const fields = { n: library.field.number };
      return library
        .topology("t")
        .spout("numbers", library.spout({ streams: { items: fields }, next: nothing }))
        .bolt("a", library.shellBolt({ command: "python3", args: ["a.py"], input: fields }), {
          from: { "numbers.items": library.grouping.partialKey("n") },
        })
        .bolt("b", library.batchBolt({ input: fields, size: 3, execute: nothing }), {
          from: { "numbers.items": library.grouping.fields("n") },
        })
        .build();
    };
    const ours = built(await import("signalbox/topology"));
    const theirs = built(await import(other.urls[0] as string));
    expect(stormFindings(theirs)).toEqual(stormFindings(ours));
    expect(fluxDefinition(theirs)).toEqual(fluxDefinition(ours));
  } finally {
    other.remove();
  }
});
