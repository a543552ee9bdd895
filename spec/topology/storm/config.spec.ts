// Options as keys of Storm's configuration, as the table in the documentation of `fluxDefinition` says.

import { readFileSync } from "node:fs";
import { fluxDefinition, type StormOptions } from "signalbox/storm";
import { bolt, field, grouping, shellBolt, spout, type TopologyConfig, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";

const N = { n: field.number };
const source = spout({ streams: { items: N }, next: () => undefined });
const sink = bolt({ input: N, execute: () => undefined });
const from = { "s.items": grouping.shuffle() };

interface Given {
  readonly config?: TopologyConfig;
  readonly options?: StormOptions;
  readonly shell?: Partial<Parameters<typeof shellBolt>[0]>;
  readonly own?: object;
}

/** Everything in a definition that options may change, by its path. */
function definition({ config, options, shell, own }: Given = {}): Map<string, unknown> {
  const { config: conf, bolts } = fluxDefinition(
    topology("t", config)
      .spout("s", source)
      .bolt("ours", sink, { from, ...own })
      .bolt("shell", shellBolt({ command: "a", input: N, ...shell } as never) as typeof sink, { from })
      .build(),
    options,
  );
  const found = new Map(Object.entries(conf));
  for (const { id, parallelism, numTasks, configMethods } of bolts) {
    found.set(`${id}: parallelism`, parallelism);
    found.set(`${id}: numTasks`, numTasks);
    for (const { name, args } of configMethods)
      if (name === "addComponentConfig") found.set(`${id}: ${args[0]}`, args[1]);
  }
  return found;
}

const plain = definition();
const changes = (given: Given): Record<string, unknown> =>
  Object.fromEntries([...definition(given)].filter(([key, value]) => plain.get(key) !== value));

/** Each row of the table, by its first cell. */
const ROWS: Readonly<Record<string, readonly [given: Given, changed: Record<string, unknown>]>> = {
  "`tasks`, `executors`": [
    { own: { tasks: 4, executors: 3 } },
    { "ours: numTasks": 4, "ours: parallelism": 3 },
  ],
  "`workers`": [{ options: { workers: 5 } }, { "topology.workers": 5 }],
  "`ackerExecutors`": [{ config: { ackerExecutors: 3 } }, { "topology.acker.executors": 3 }],
  "`maxPending`": [{ config: { maxPending: 9 } }, { "topology.max.spout.pending": 9 }],
  "`messageTimeoutMs`": [{ config: { messageTimeoutMs: 1_001 } }, { "topology.message.timeout.secs": 2 }],
  "`sampleRate`": [{ config: { sampleRate: 1 } }, { "topology.stats.sample.rate": 1 }],
  "`debug`": [{ config: { debug: true } }, { "topology.debug": true }],
  "`subprocessTimeoutMs`, or the largest `timeoutMs` of shell components": [
    { options: { subprocessTimeoutMs: 7_500 }, shell: { timeoutMs: 9_000 } },
    { "topology.subprocess.timeout.secs": 8 },
  ],
  "`tickMs` of a shell bolt": [
    { shell: { config: { tickMs: 100 } } },
    { "shell: topology.tick.tuple.freq.secs": 1 },
  ],
  "`conf` of a shell component": [{ shell: { conf: { mine: 5 } } }, { "shell: mine": 5 }],
};

describe("the configuration", () => {
  it("is a table for users, with a test here for each row [N1445]", () => {
    const page = readFileSync(new URL("../../../lib/topology/storm/definition.ts", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^ \* \| (`.+) \| (.+) \|$/gm)].map(([, option, keys]) => [option, keys]);
    expect(rows.map(([option]) => option)).toEqual(Object.keys(ROWS));
    for (const [option, keys = ""] of rows) {
      const [, changed] = ROWS[option as string] as (typeof ROWS)[string];
      const names = Object.keys(changed).map((key) => key.replace(/^\w+: /, ""));
      if (names[0] !== "mine") expect([...keys.matchAll(/`(.+?)`/g)].map(([, name]) => name)).toEqual(names);
    }
  });

  it.each(Object.entries(ROWS))(
    "has %s under its key, and changes nothing else [N1445]",
    (_option, [given, changed]) => {
      expect(changes(given)).toEqual(changed);
    },
  );

  it("takes the time of the slowest program, and 30 seconds without a program", () => {
    expect(changes({ shell: { timeoutMs: 60_000 } })).toEqual({ "topology.subprocess.timeout.secs": 60 });
    expect(changes({ shell: { timeoutMs: Number.POSITIVE_INFINITY } })).toEqual({});
  });

  it("gives no number that Storm refuses as too large [N1445]", () => {
    const none = Number.MAX_SAFE_INTEGER;
    const limits = { maxPending: none, messageTimeoutMs: none };
    const given = { config: limits, options: { workers: none, subprocessTimeoutMs: none } };
    expect(changes(given)).toMatchObject({
      "topology.max.spout.pending": 2 ** 31 - 1,
      "topology.message.timeout.secs": 2 ** 31 - 1,
      "topology.subprocess.timeout.secs": 2 ** 31 - 1,
      "topology.workers": 2 ** 31 - 1,
    });
  });

  it("registers the classes of JSON values, which may go to another worker, beside those of the user [N1481]", () => {
    const json = ["JSONObject", "JSONArray"].map((name) => `org.apache.storm.shade.net.minidev.json.${name}`);
    const key = "topology.kryo.register";
    const registered = (given: unknown) => definition({ options: { conf: { [key]: given } } }).get(key);
    expect(plain.get(key)).toEqual(json);
    expect(registered(["com.example.A"])).toEqual([...json, "com.example.A"]);
    expect(registered({ "com.example.A": "com.example.Writer" })).toEqual([
      ...json,
      { "com.example.A": "com.example.Writer" },
    ]);
    expect(registered(null)).toEqual(json);
  });

  it("gives a component a `debug` of its own, and a bolt of ours no ticks", () => {
    const ticking = bolt({
      input: N,
      execute: () => undefined,
      tick: () => undefined,
      config: { tickMs: 500 },
    });
    const { bolts } = fluxDefinition(
      topology("t", { debug: true }).spout("s", source).bolt("b", ticking, { from, debug: false }).build(),
    );
    expect(bolts[0]?.configMethods).toEqual([
      { name: "addComponentConfig", args: ["topology.debug", false] },
    ]);
  });
});
