import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import type { BatchLimits } from "../../../lib/pipeline/definition/adapter.js";
import { graphFaults, type Plan } from "../../../lib/pipeline/definition/check.js";
import { PipelineFaultsError } from "../../../lib/pipeline/definition/errors.js";
import { faultText } from "../../../lib/pipeline/definition/fault.js";
import { definePipeline, feed, type PipelineOptions } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { type AnyRoute, type Route, route } from "../../../lib/pipeline/definition/route.js";

const q = (name: string) => queue<unknown>(name);
const from = (name: string, options: object = {}): Route<unknown> =>
  route<unknown>(name, { from: q(name), ...options });
const source = (name: string, to: string) => feed({ name, open: () => [] }, q(to));

function refused(options: PipelineOptions): string[] {
  try {
    definePipeline("refused", options);
  } catch (error) {
    if (!(error instanceof PipelineFaultsError)) throw error;
    for (const fault of error.faults) expect(error.message).toContain(faultText(fault));
    return error.faults.map(faultText);
  }
  return [];
}

const only = (routes: readonly AnyRoute[], more: Partial<PipelineOptions> = {}): string[] =>
  refused({ routes, ...more });

const REFUSED: readonly (readonly [string, PipelineOptions, string])[] = [
  [
    "a queue that nobody reads",
    { routes: [from("words").to(q("wrods"))] },
    'routes[0].to[0] must be a queue that a route takes from; found "wrods", which no route takes from; did you mean words?',
  ],
  [
    "a source whose queue nobody reads",
    { routes: [from("lines")], sources: [source("s", "other"), source("t", "lines")] },
    'sources[0].to must be a queue that a route takes from; found "other", which no route takes from',
  ],
  [
    "a queue with two readers",
    { routes: [from("a"), route("b", { from: q("a") })] },
    'routes[1].from must be a queue that no other route takes from; found "a", which a takes from',
  ],
  [
    "a route that no message reaches",
    { routes: [from("a"), from("b")], sources: [source("s", "a")] },
    'routes[1] must be a route that some source leads to; found no way to its queue "b"',
  ],
  [
    "a route behind the hop limit",
    {
      routes: [from("a").to(q("b")), from("b").to(q("c")), from("c")],
      sources: [source("s", "a")],
      maxHops: 2,
    },
    "routes[2] must be less than maxHops routes away from a source; found 2 routes on the shortest way to it",
  ],
  [
    "a circle without a hop limit",
    { routes: [from("a").to(q("b")), from("b").to(q("c")), from("c").to(q("b"))] },
    "routes[1].to[0] must be a queue that does not lead back to the route, unless the pipeline states maxHops; " +
      "found the circle b -> c -> b",
  ],
  [
    "a route that publishes to itself without a hop limit",
    { routes: [from("a").to(q("a"), { when: () => true })] },
    "routes[0].to[0] must be another queue than the route's own, unless the pipeline states maxHops; " +
      'found "a", which the route itself takes from',
  ],
  [
    "first matches that may all fail",
    { routes: [from("a", { firstMatch: true }).to(q("b"), { when: () => true }), from("b")] },
    "routes[0].to[0] must be without a condition, as the last queue of a route with firstMatch: other messages " +
      "would be lost; found a condition",
  ],
  [
    "a queue that no first match reaches",
    { routes: [from("a", { firstMatch: true }).to(q("b")).to(q("c")), from("b"), from("c")] },
    "routes[0].to[1] must be in front of the queue without a condition, as the route has firstMatch; " +
      'found it is behind "b", which takes all messages',
  ],
  [
    "a second batch in a route",
    {
      routes: [
        from("a")
          .batch("x", { size: 1 }, (all) => all)
          .batch("y", { size: 1 }, (all) => all),
      ],
    },
    "routes[0].adapters[1].batch must be the only batch of its route: let the route end in front of it, and begin another one with this adapter; found a second batch",
  ],
  ["no routes", { routes: [] }, "routes must be one route or more; found none"],
];

describe("the graph of a pipeline", () => {
  it("is accepted when each message comes to an end", () => {
    const routes = [
      from("a")
        .to(q("b"), { when: (x) => x === 1 })
        .to(q("c")),
      from("b").to(q("c")),
      from("c"),
    ];
    expect(only(routes, { sources: [source("s", "a")] })).toEqual([]);
    expect(only(routes)).toEqual([]);
  });

  it.each(REFUSED)("refuses %s [Y70]", (_, options, text) => {
    expect(refused(options)).toEqual([text]);
  });

  it.each<[BatchLimits, string]>([
    [
      { size: 10, everyMs: Number.POSITIVE_INFINITY },
      "everyMs must be a number of milliseconds, 1 or more; found Infinity",
    ],
    [{ size: 10, everyMs: Number.NaN }, "everyMs must be a number of milliseconds, 1 or more; found NaN"],
    [{ size: 10, everyMs: 0 }, "everyMs must be a number of milliseconds, 1 or more; found 0"],
    [{ size: 0 }, "size must be a whole number of messages, 1 or more; found 0"],
    [{} as BatchLimits, "size must be a whole number of messages, 1 or more; found nothing"],
  ])("refuses a batch that may never be processed: %j [Y70]", (limits, text) => {
    expect(only([from("a").batch("sum", limits, (all) => all)])).toEqual([
      `routes[0].adapters[0].batch.${text}`,
    ]);
  });

  it("accepts circles with a stated hop limit, and a batch that leaves the time-out to its default", () => {
    const routes = [
      from("a")
        .batch("sum", { size: 10 }, (all) => all)
        .to(q("a")),
    ];
    expect(only(routes, { maxHops: 5 })).toEqual([]);
  });

  it("reports all faults at once, those of policies too [Y71]", () => {
    const faults = only(
      [
        from("a", { concurrency: 0, retry: { attempts: 1.5 } })
          .to(q("b"))
          .to(q("a")),
        from("c", { retry: { backoff: { minMs: 1, maxMs: 1, jitter: 2 } }, prefech: 3 }),
        from("d", { retry: { backoff: { minMs: 5, maxMs: 2 } } }),
      ],
      {
        sources: [source("s", "a")],
        inFlight: -1,
        defaults: { retry: { attempts: 2, backoff: { minMs: 10, maxMs: 1 } } },
      },
    );
    expect(faults).toEqual([
      "inFlight must be a whole number of messages, 1 or more; found -1",
      "defaults.retry.backoff.maxMs must be minMs or more; found 1",
      "routes[0].concurrency must be a whole number of messages, 1 or more; found 0",
      "routes[0].retry.attempts must be a whole number of attempts, 1 or more; found 1.5",
      "routes[1].retry.backoff.jitter must be a number, 0 to 1; found 2",
      "routes[1].prefech must be one of from, description, firstMatch, concurrency, adaptive, prefetch, timeoutMs, overrunMs, breaker, " +
        'retry, quarantine, highWaterMark, fanOut, keepValues, hashValues; found the unknown name "prefech"; did you mean prefetch?',
      "routes[2].retry.backoff.maxMs must be minMs or more; found 2",
      'routes[0].to[0] must be a queue that a route takes from; found "b", which no route takes from',
      'routes[1] must be a route that some source leads to; found no way to its queue "c"',
      'routes[2] must be a route that some source leads to; found no way to its queue "d"',
      "routes[0].to[1] must be another queue than the route's own, unless the pipeline states maxHops; " +
        'found "a", which the route itself takes from',
    ]);
  });

  it("takes a chain of ten thousand routes, and a circle of them", () => {
    const n = 10_000;
    const chain = (last: string): Plan => ({
      feeds: [{ queue: "q0", keys: [], conditional: false }],
      maxHops: undefined,
      routes: Array.from({ length: n }, (_, i) => ({
        name: `r${i}`,
        keys: ["routes", i],
        from: `q${i}`,
        firstMatch: false,
        batches: [],
        to: [{ queue: i === n - 1 ? last : `q${i + 1}`, keys: [], conditional: false }],
      })),
    });
    const beyond = n - 100;
    expect(graphFaults(chain(`q${n - 1}`))).toHaveLength(beyond + 1);
    expect(graphFaults(chain("q0")).at(-1)?.found).toMatch(/^the circle r0 -> .* -> \(9980 routes\) -> r0$/);
  });
});

/** A graph of routes as a matrix: `matrix[i][j]` is whether route i publishes to the queue of route j. */
interface Drawn {
  readonly matrix: readonly (readonly boolean[])[];
  readonly sources: readonly number[];
  readonly maxHops: number | undefined;
}

const drawn: fc.Arbitrary<Drawn> = fc.integer({ min: 1, max: 6 }).chain((n) =>
  fc.record({
    matrix: fc.array(
      fc.array(
        fc.double({ min: 0, max: 1, noNaN: true }).map((x) => x < 0.25),
        { minLength: n, maxLength: n },
      ),
      { minLength: n, maxLength: n },
    ),
    sources: fc.uniqueArray(fc.integer({ min: 0, max: n - 1 }), { minLength: 1, maxLength: 2 }),
    maxHops: fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }),
  }),
);

const times = (a: Drawn["matrix"], b: Drawn["matrix"]): boolean[][] =>
  a.map((row) => b.map((_, j) => row.some((edge, k) => edge && (b[k] as readonly boolean[])[j] === true)));

/** Ways of exactly 0, 1, … n steps. */
function powers(matrix: Drawn["matrix"], n: number): boolean[][][] {
  const all = [matrix.map((row, i) => row.map((_, j) => i === j))];
  while (all.length <= n) all.push(times(all.at(-1) as boolean[][], matrix));
  return all;
}

describe("random graphs", () => {
  test.prop([drawn])(
    "have the faults that powers of their matrix show [Y72]",
    ({ matrix, sources, maxHops }) => {
      const n = matrix.length;
      const plan: Plan = {
        maxHops,
        feeds: sources.map((at) => ({ queue: `q${at}`, keys: ["feeds", at], conditional: false })),
        routes: matrix.map((row, i) => ({
          name: `r${i}`,
          keys: ["routes", i],
          from: `q${i}`,
          firstMatch: false,
          batches: [],
          to: row.flatMap((edge, j) => (edge ? [{ queue: `q${j}`, keys: [i, j], conditional: false }] : [])),
        })),
      };
      const ways = powers(matrix, n);
      const within = (i: number, j: number, low: number, high: number): boolean =>
        ways.slice(low, high + 1).some((power) => power[i]?.[j] === true);

      const unreached = matrix.flatMap((_, j) =>
        sources.some((i) => within(i, j, 0, Math.min(n, (maxHops ?? 100) - 1))) ? [] : [`routes[${j}]`],
      );
      // One circle for each set of routes that lead to each other.
      const classes = new Set(
        matrix.flatMap((_, i) =>
          within(i, i, 1, n) ? [matrix.findIndex((__, j) => within(i, j, 0, n) && within(j, i, 0, n))] : [],
        ),
      );
      const faults = graphFaults(plan);
      const about = (part: string) => faults.filter(({ allowed }) => allowed.includes(part));
      expect(faults.filter(({ keys }) => keys[0] === "routes").map(({ path }) => path)).toEqual(unreached);
      const circles = about("unless the pipeline states maxHops");
      expect(circles).toHaveLength(maxHops === undefined ? classes.size : 0);
      for (const { keys, found } of circles) {
        const [i, j] = keys as [number, number];
        expect(matrix[i]?.[j]).toBe(true);
        expect(classes).toContain(i);
        // As long as the shortest way back.
        const steps = i === j ? 1 : (found.match(/->/g)?.length ?? 0);
        expect(ways.findIndex((power, k) => k > 0 && power[i]?.[i] === true)).toBe(steps);
      }
      expect(faults).toHaveLength(unreached.length + circles.length);
    },
  );
});
