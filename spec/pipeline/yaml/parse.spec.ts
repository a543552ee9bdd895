import { describe, expect, it } from "vitest";
import type { AnyPipeline } from "../../../lib/pipeline/definition/pipeline.js";
import { routePolicy } from "../../../lib/pipeline/definition/resolve.js";
import type { AnyRoute } from "../../../lib/pipeline/definition/route.js";
import type { Source } from "../../../lib/pipeline/definition/source.js";
import { loadYaml, parsePipeline } from "../../../lib/pipeline/yaml/parse.js";
import { adapterType, pipelineRegistry, sourceType } from "../../../lib/pipeline/yaml/registry.js";
import { PackageMissingError } from "../../../lib/process/package-missing.js";
import { FILE, faultsOf, linesOf, parse } from "./support.js";

const SHOP = `
version: 1
name: shop
description: Orders of a shop
inFlight: 10
maxHops: 20
defaults:
  concurrency: 4
  adaptive: { targetMs: 200 }
  breaker: { failureRate: 0.2 }
  fanOut: 50
  retry:
    attempts: 5
sources:
  inbox:
    type: files
    config: { path: in.jsonl }
    to: orders
  first:
    type: messages
    config:
      values: [{ id: 1, country: DE }, { id: 2 }]
      key: country
    to: orders
routes:
  read:
    description: Reads orders
    from: orders
    concurrency: 8
    firstMatch: true
    adapters:
      - type: shout
      - type: post
        name: announce
        config: { url: "https://example.org" }
        when: { field: country, operator: eq, value: DE }
    to:
      - queue: again
        when:
          - { field: id, operator: gt, value: 1 }
          - { field: country, operator: absent }
      - totals
  again:
    from: again
    to: orders
  total:
    from: totals
    adaptive: none
    breaker: none
    retry: { attempts: 1 }
    adapters:
      - type: sum
        config: { size: 100, everyMs: 50 }
`;

describe("a file", () => {
  it("becomes a pipeline with the policies, adapters, sources and conditions that it names [Y73]", async () => {
    const { name, options } = await parse(SHOP);
    expect(name).toBe("shop");
    expect(options).toMatchObject({ description: "Orders of a shop", inFlight: 10, maxHops: 20 });
    expect(options.defaults).toEqual({
      concurrency: 4,
      adaptive: { targetMs: 200 },
      breaker: { failureRate: 0.2 },
      fanOut: 50,
      retry: { attempts: 5, backoff: { minMs: 1_000, maxMs: 60_000 } },
    });
    const [read, again, total] = options.routes;
    expect(read?.options).toEqual({
      from: { name: "orders" },
      description: "Reads orders",
      concurrency: 8,
      firstMatch: true,
    });
    expect(read?.stages.map(({ adapter, when }) => [adapter.name, when])).toEqual([
      ["shout", undefined],
      ["announce", { field: "country", operator: "eq", value: "DE" }],
    ]);
    expect(read?.outbound.map(({ queue, when }) => [queue.name, when])).toEqual([
      [
        "again",
        [
          { field: "id", operator: "gt", value: 1 },
          { field: "country", operator: "absent" },
        ],
      ],
      ["totals", undefined],
    ]);
    expect(again?.outbound.map(({ queue }) => queue.name)).toEqual(["orders"]);
    expect([
      routePolicy({ options } as AnyPipeline, read as AnyRoute).adaptive,
      total?.options.adaptive,
      total?.options.breaker,
    ]).toEqual([{ targetMs: 200 }, "none", "none"]);
    expect(total?.stages[0]?.adapter).toMatchObject({ name: "sum", batch: { size: 100, everyMs: 50 } });
    const announce = read?.stages[1]?.adapter as unknown as { process(value: number): unknown };
    expect(announce.process(7)).toEqual({ value: 7, config: { url: "https://example.org", tries: 3 } });
  });

  it("gives messages of its own, with keys, from any checkpoint", async () => {
    const { options } = await parse(SHOP);
    const source = options.sources?.[1]?.source as Source<unknown, never>;
    const context = { kernel: undefined as never, input: undefined, signal: new AbortController().signal };
    const all = [...(source.open({ ...context, checkpoint: undefined as never }) as Iterable<unknown>)];
    expect(all).toEqual([
      { value: { id: 1, country: "DE" }, checkpoint: 1, key: "DE" },
      { value: { id: 2 }, checkpoint: 2 },
    ]);
    expect([...(source.open({ ...context, checkpoint: 1 as never }) as Iterable<unknown>)]).toEqual([all[1]]);
    expect(options.sources?.map((one) => [one.source.name, one.to.name])).toEqual([
      ["inbox", "orders"],
      ["first", "orders"],
    ]);
  });

  it("is kept as the configuration of executions, frozen", async () => {
    const { configuration } = (await parse(SHOP)).options;
    expect(configuration).toMatchObject({ version: 1, routes: { again: { to: "orders" } } });
    const { routes } = configuration as { routes: Record<string, unknown> };
    expect(() => {
      routes.more = 1;
    }).toThrow(TypeError);
  });

  it("reports all of its faults at once, each with its line, column and path [Y74]", async () => {
    const text = `
version: 2
name: my shop
inFligth: 3
defaults:
  retry: { attempts: 0, backoff: { minMs: 5, maxMs: 1 } }
sources:
  inbox: { type: file, to: orders }
routes:
  read:
    from: orders
    concurrency: "four"
    adapters:
      - type: shuot
      - { type: post, config: { url: nowhere, more: 1 } }
      - { type: shout, config: { loud: true } }
      - { type: shout }
      - { type: sum, config: { size: 1, everyMs: 0 } }
    to:
      - { queue: totals, when: { field: x, operator: matches, value: "(" } }
      - totals
      - wrong
  total:
    from: totals
    adapters:
`;
    expect(await linesOf(text)).toEqual([
      "2:10 version: 1 <- 2",
      '3:7 name: a name of up to 64 letters, digits, _ and -, a letter first <- "my shop"',
      "4:1 inFligth: one of version, name, description, inFlight, maxHops, maxMessageBytes, defaults, sources, routes " +
        '<- the unknown name "inFligth" (inFlight?)',
      "6:22 defaults.retry.attempts: a whole number of attempts, 1 or more <- 0",
      '8:18 sources.inbox.type: one of messages, files <- "file" (files?)',
      '12:18 routes.read.concurrency: a whole number of messages, 1 or more <- "four"',
      '14:15 routes.read.adapters[0].type: one of shout, post, sum, anything <- "shuot" (shout?)',
      '15:31 routes.read.adapters[1].config: valid: Unrecognized key: "more" <- {"url":"nowhere","more":1}',
      '15:38 routes.read.adapters[1].config.url: valid: Invalid URL <- "nowhere"',
      '16:32 routes.read.adapters[2].config: absent, since shout has no configuration <- {"loud":true}',
      '17:17 routes.read.adapters[3].type: unlike the other adapters of the route; give it another name <- "shout"',
      "18:50 routes.read.adapters[4].config.everyMs: a number of milliseconds, 1 or more <- 0",
      '20:70 routes.read.to[0].when.value: a regular expression, as text, for matches <- "("',
      '21:9 routes.read.to[1]: a queue that the route does not send to already <- "totals"',
      '22:9 routes.read.to[2]: a queue that a route takes from <- "wrong", which no route takes from',
      "25:14 routes.total.adapters: a list <- nothing",
    ]);
  });

  it("says what the file, the place, the value and the allowed values are in its message", async () => {
    const error = await parse("version: 1\nname: a\nroutes:\n  a: { from: 1 }\n").catch(
      (thrown: Error) => thrown,
    );
    expect((error as Error).message).toBe(
      "shop.yaml defines no pipeline:\n" +
        "shop.yaml:4:14 routes.a.from must be a name of up to 64 letters, digits, _ and -, a letter first; found 1",
    );
  });

  it.each([
    [
      "routes:\n  a: { from: a }\n  b: { from: b }",
      "sources: { s: { type: messages, to: a, config: { values: [] } } }",
      "routes.b",
    ],
    ["routes:\n  a: { from: a, to: a }", "", "routes.a.to"],
    ["routes:\n  a: { from: a, to: [b] }\n  b: { from: b, to: { queue: a } }", "", "routes.a.to[0]"],
    ["routes:\n  a: { from: q }\n  b: { from: q }", "", "routes.b.from"],
    [
      "routes:\n  a: { from: a, firstMatch: true, to: { queue: b, when: { field: x, operator: exists } } }\n  b: { from: b }",
      "",
      "routes.a.to",
    ],
    [
      "routes:\n  a: { from: a }",
      "sources: { s: { type: messages, to: q, config: { values: [] } }, t: { type: messages, to: a, config: { values: [] } } }",
      "sources.s.to",
    ],
    ["routes: {}", "", "routes"],
    [
      "routes:\n  a: { from: a, retry: { backoff: { minMs: 3, maxMs: 2 } } }",
      "",
      "routes.a.retry.backoff.maxMs",
    ],
  ])("is held to the rules of the graph: %s [Y74]", async (routes, sources, path) => {
    const faults = await faultsOf(`version: 1\nname: a\n${routes}\n${sources}\n`);
    expect(faults.map((fault) => fault.path)).toEqual([path]);
  });

  it("accepts circles whose hop limit is stated", async () => {
    await parse("version: 1\nname: a\nmaxHops: 3\nroutes:\n  a: { from: a, to: a }\n");
  });

  it("blames no route for a graph that is not known", async () => {
    expect(
      await linesOf(`version: 1\nname: a\nroutes:\n  a: { from: 7, to: b }\n  b: { from: b, to: c }\n`),
    ).toEqual(["4:14 routes.a.from: a name of up to 64 letters, digits, _ and -, a letter first <- 7"]);
  });

  it("reports what the maker of an adapter or a source throws, or returns instead of one", async () => {
    const types = pipelineRegistry({
      adapters: [
        adapterType({
          type: "throws",
          create: () => {
            throw new TypeError("no such table");
          },
        }),
        adapterType({ type: "gives-nothing", create: () => undefined as never }),
      ],
      sources: [sourceType({ type: "gives-text", create: () => "x" as never })],
    });
    const text =
      "version: 1\nname: a\nsources: { s: { type: gives-text, to: a } }\nroutes:\n  a:\n    from: a\n" +
      "    adapters: [{ type: throws }, { type: gives-nothing }]\n";
    expect(await linesOf(text, { registry: types })).toEqual([
      "3:15 sources.s: a source, from its type <- a value of type string",
      "7:16 routes.a.adapters[0].config: a configuration of throws that can be used: TypeError: no such table <- nothing",
      "7:34 routes.a.adapters[1]: an adapter, from its type <- undefined",
    ]);
  });
});

describe("parsePipeline", () => {
  it.each([
    [[7], /^text must be a text/],
    [["", { file: "" }], /^file must be/],
    [["", { registry: {} }], /^registry must be made by pipelineRegistry/],
    [["", { env: null }], /^env must be an object of texts; got "\(hidden\)"/],
    [["", { regsitry: 1 }], /did you mean registry/],
  ] as const)("refuses bad arguments: %j", async (args, message) => {
    await expect(parsePipeline(...(args as unknown as [string]))).rejects.toThrow(message);
  });

  it("names the package that is missing", async () => {
    const missing = loadYaml(() => Promise.reject(new Error("not found")));
    await expect(missing).rejects.toThrow(PackageMissingError);
    await expect(missing).rejects.toThrow("npm install yaml@^2.9.0");
  });

  it("names the file as it was given", async () => {
    const error = await parse("", { file: "x/y.yml" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "ERR_PIPELINE_FILE", file: "x/y.yml" });
    expect(FILE).not.toBe("x/y.yml");
  });
});
