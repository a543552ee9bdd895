// The library does what a real OTP node did, scenario by scenario; and the runner that says so can be trusted to say no.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc, test as property } from "@fast-check/vitest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { proving } from "../support/proof.js";
import { conformance } from "./conformance.js";
import { type Outcome, replay, replayNodes, replayScenario } from "./replay.js";
import { RulesRun } from "./rules.js";
import { type NodesScenario, parseTraces, type Scenario, type Seen, TraceError } from "./trace.js";

const LINKS = traceFile("links");
const TREES = traceFile("supervisors");
const links = parseTraces(readFileSync(LINKS, "utf8"));
const trees = parseTraces(readFileSync(TREES, "utf8"));
const nodes = parseTraces(readFileSync(traceFile("nodes"), "utf8"));
const machines = parseTraces(readFileSync(traceFile("statem"), "utf8"));
const servers = parseTraces(readFileSync(traceFile("server"), "utf8"));

function traceFile(name: string): string {
  return new URL(`./traces/${name}.json`, import.meta.url).pathname;
}

/** In `npm test` each of so many scenarios runs, from the first on; in `npm run prove` all do. */
const EACH = proving ? 1 : 6;
const some = (scenarios: readonly Scenario[]): Scenario[] =>
  scenarios.filter((_, index) => index % EACH === 0);
/** Every one of so many went as in OTP. */
const allPassed = (many: number): Outcome => ({
  passed: Math.ceil(many / EACH),
  failed: 0,
  differences: [],
});

describe("the traces of a real OTP node", () => {
  test("links, monitors and exit signals go as in OTP, with function bodies and with callbacks [S8]", async () => {
    expect(await replay(some(links))).toEqual(allPassed(500));
  });

  test("links, monitors and signals between two nodes go as in OTP, when they cross and when the nodes lose each other [N1020]", async () => {
    expect(await replay(some(nodes))).toEqual(allPassed(500));
  });

  test("of two nodes are what the interpreter of the rules says, to which the exhaustive search compares [N1022]", async () => {
    for (const scenario of nodes as NodesScenario[])
      expect(await replayNodes(scenario, new RulesRun(scenario.nodes))).toEqual([]);
  });

  test("supervisors start, restart, stop and answer as in OTP [V15]", async () => {
    expect(await replay(some(trees))).toEqual(allPassed(400));
  });

  test("state machines handle, postpone, time out, enter and stop as in OTP [B21]", async () => {
    expect(await replay(some(machines))).toEqual(allPassed(500));
  });

  test("servers continue, time out, reply later and stop as in OTP [B7]", async () => {
    expect(await replay(some(servers))).toEqual(allPassed(400));
  });
});

/** Two processes linked; the trapping one sends itself two numbers, and outlives the other, whom it also monitors. */
const pair: Scenario = {
  id: "pair",
  steps: [
    { op: ["spawn", "p1", true], result: "ok", received: {}, died: {}, alive: ["p1"] },
    { op: ["spawn_link", "p1", "p2", false], result: "ok", received: {}, died: {}, alive: ["p1", "p2"] },
    { op: ["monitor", "p1", "p2", "r1"], result: "ok", received: {}, died: {}, alive: ["p1", "p2"] },
    {
      op: ["burst", "p1", "p1", 2, "bang"],
      result: "ok",
      received: {
        p1: [
          ["msg", "p1", 1],
          ["msg", "p1", 2],
          ["EXIT", "p1", "bang"],
        ],
      },
      died: {},
      alive: ["p1", "p2"],
    },
    {
      op: ["crash", "p2", "boom"],
      result: "ok",
      received: {
        p1: [
          ["DOWN", "r1", "boom"],
          ["EXIT", "p2", "boom"],
        ],
      },
      died: { p2: "boom" },
      alive: ["p1"],
    },
  ],
};

const shop: Scenario = {
  id: "shop",
  tree: [
    "sup",
    "s1",
    "one_for_all",
    1,
    "never",
    [
      ["worker", "w1", "permanent", 500, false, true, []],
      ["worker", "w2", "permanent", 500, false, true, []],
    ],
  ],
  steps: [
    {
      op: "start",
      result: "ok",
      order: [
        ["started", "s1"],
        ["started", "w1"],
        ["started", "w2"],
      ],
      died: [],
    },
    {
      op: ["signal", "s1", "kill"],
      result: "ok",
      order: [
        ["terminate", "w1", "killed"],
        ["terminate", "w2", "killed"],
      ],
      died: [
        ["s1", "killed"],
        ["w1", "killed"],
        ["w2", "killed"],
      ],
      unordered: true,
    },
  ],
};

/** A server that is asked twice: the first caller waits for the second, which is answered after a continue has run. */
const desk: Scenario = {
  id: "desk",
  trap: false,
  init: [["ok"]],
  on: {
    "call q1": [[["noreply", ["continue", "c1"]], "save"], [["stop", "boom", 2]]],
    "continue c1": [[["noreply", 40]]],
    timeout: [[["noreply"], ["reply_saved", 1]]],
  },
  terminate: ["crash", "bang"],
  steps: [
    { op: "start", result: "ok", seen: [["init"]] },
    {
      op: ["call", "k1", "q1", 100],
      seen: [
        ["call", "q1", "k1"],
        ["continue", "c1"],
      ],
    },
    { op: ["sleep", 60], seen: [["timeout"]], results: { k1: ["reply", 1] } },
    {
      op: [
        "burst",
        [
          ["call", "k2", "q1", "infinity"],
          ["stop", "k3", "bang"],
        ],
      ],
      seen: [
        ["call", "q1", "k2"],
        ["terminate", "boom"],
      ],
      results: { k2: ["reply", 2], k3: ["exit", "bang"] },
      exit: "bang",
    },
    { op: ["call", "k4", "q1", 100], results: { k4: ["exit", "noproc"] } },
  ],
};

/**
 * A machine whose handler throws what it may not return: a gen_statem takes what is thrown as returned.
 * https://github.com/erlang/otp/blob/OTP-25.3/lib/stdlib/src/gen_statem.erl (`loop_state_callback`)
 */
const thrower = (init: unknown, steps: object): Scenario =>
  ({
    id: "thrower",
    enter: true,
    trap: false,
    terminate: "ok",
    init,
    on: {
      a: { "cast e1": [["bad", "thrown"]], "cast e2": [[["next", "b"], "thrown"]] },
      b: { enter: [["bad", "thrown"]] },
    },
    steps,
  }) as never;
const started = {
  op: "start",
  result: "ok",
  seen: [["init"], ["a", "enter", "a"]],
};

/** The scenario with another `seen` in one of its steps. */
function doctored(scenario: Scenario, step: number, seen: Seen): Scenario {
  const steps = scenario.steps.map((one, index) => (index === step ? { ...one, ...seen } : one));
  return { ...scenario, steps } as Scenario;
}

describe("a step that is thrown", () => {
  test("is bad where it would be bad to return it [B62]", async () => {
    const ok = [["ok", "a"], "thrown"];
    const end = (state: string) => ["terminate", state, "bad_return"];
    const inHandler = thrower(ok, [
      started,
      { op: ["cast", "e1"], seen: [["a", "cast", "e1"], end("a")], exit: "bad_return" },
    ]);
    const inEnter = thrower(ok, [
      started,
      { op: ["cast", "e2"], seen: [["a", "cast", "e2"], ["b", "enter", "a"], end("b")], exit: "bad_return" },
    ]);
    const inInit = thrower(
      ["bad", "thrown"],
      [{ op: "start", result: ["error", "bad_return"], seen: [["init"]], exit: "bad_return" }],
    );
    for (const scenario of [inHandler, inEnter, inInit]) expect(await replayScenario(scenario)).toEqual([]);
  });
});

describe("a trace that says something else", () => {
  test("is no difference when it says what happens here", async () => {
    expect(await replayScenario(pair)).toEqual([]);
    expect(await replayScenario(shop)).toEqual([]);
    expect(await replayScenario(desk)).toEqual([]);
  });

  test("is reported by scenario and step, with only the difference, for both kinds of process", async () => {
    const difference = {
      scenario: "pair",
      step: 4,
      op: ["crash", "p2", "boom"],
      expected: { died: {}, alive: ["p1", "p2"] },
      got: { died: { p2: "boom" }, alive: ["p1"] },
    };
    expect(await replayScenario(doctored(pair, 4, difference.expected))).toEqual([
      { ...difference, processes: "bodies" },
      { ...difference, processes: "callbacks" },
    ]);
  });

  test("may have signals of one run in any order, which OTP leaves open", async () => {
    const signals = [
      ["EXIT", "p2", "boom"],
      ["DOWN", "r1", "boom"],
    ];
    expect(await replayScenario(doctored(pair, 4, { received: { p1: signals } }))).toEqual([]);
  });

  test("may not have messages in another order, nor a signal on the other side of a message", async () => {
    const swapped = [
      ["msg", "p1", 2],
      ["msg", "p1", 1],
      ["EXIT", "p1", "bang"],
    ];
    const early = [
      ["EXIT", "p1", "bang"],
      ["msg", "p1", 1],
      ["msg", "p1", 2],
    ];
    for (const p1 of [swapped, early]) {
      expect(await replayScenario(doctored(pair, 3, { received: { p1 } }))).toHaveLength(2);
    }
  });

  test("may have what follows a killed supervisor in any order, and nothing else", async () => {
    const ends = [
      ["terminate", "w2", "killed"],
      ["terminate", "w1", "killed"],
    ];
    expect(await replayScenario(doctored(shop, 1, { order: ends }))).toEqual([]);
    expect(await replayScenario(doctored(shop, 1, { order: ends, unordered: false }))).toHaveLength(1);
    const starts = [
      ["started", "s1"],
      ["started", "w2"],
      ["started", "w1"],
    ];
    expect(await replayScenario(doctored(shop, 0, { order: starts }))).toMatchObject([
      { scenario: "shop", step: 0, expected: { order: starts } },
    ]);
  });

  test("does not hide that later steps went well", async () => {
    const outcome = await replay([
      doctored(shop, 0, { result: "failed" }),
      shop,
      doctored(pair, 0, { alive: [] }),
    ]);
    expect(outcome).toMatchObject({ passed: 1, failed: 2 });
    expect(outcome.differences.map(({ scenario, step }) => [scenario, step])).toEqual([
      ["shop", 0],
      ["pair", 0],
      ["pair", 0],
    ]);
  });

  /** For each field, something that no step of any trace has. */
  const lies: { readonly [field: string]: unknown } = {
    result: "a lie",
    received: { p1: [["msg", "p9", 0]] },
    died: [["p9", "a lie"]],
    alive: ["p9"],
    order: [["started", "p9"]],
    seen: [["call", "a lie", "k9"]],
    results: { k9: ["reply", "a lie"] },
    exit: "a lie",
  };

  const place = fc.record({ scenario: fc.nat(), step: fc.nat(), field: fc.nat() });

  property.prop([place], { numRuns: proving ? 60 : 20 })(
    "is found wherever in the recorded traces it stands",
    async (at) => {
      for (const [scenarios, fields] of [
        [links, ["result", "received", "died", "alive"]],
        [nodes, ["result", "received", "died"]],
        [trees, ["result", "order", "died"]],
        [servers, ["result", "seen", "results", "exit"]],
        [machines, ["result", "seen", "results", "exit"]],
      ] as const) {
        const scenario = scenarios[at.scenario % scenarios.length] as Scenario;
        const step = at.step % scenario.steps.length;
        const field = fields[at.field % fields.length] as string;
        const honest = await replayScenario(scenario);
        const found = await replayScenario(doctored(scenario, step, { [field]: lies[field] }));
        const there = found.filter((one) => one.step === step);
        expect(there.length).toBeGreaterThan(0);
        for (const one of there) expect(one.expected).toHaveProperty(field);
        expect(found.filter((one) => one.step !== step)).toEqual(honest.filter((one) => one.step !== step));
      }
    },
  );
});

describe("npm run conformance", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-otp-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function file(text: string): string {
    const path = join(folder, "traces.json");
    writeFileSync(path, text);
    return path;
  }

  async function run(...paths: string[]): Promise<{ code: number; printed: string[]; complaints: string[] }> {
    const printed: string[] = [];
    const complaints: string[] = [];
    const code = await conformance(paths, {
      print: (line) => printed.push(line),
      complain: (line) => complaints.push(line),
    });
    return { code, printed, complaints };
  }

  test("counts what passed, and exits with 0", async () => {
    const traces = file(JSON.stringify([pair, shop]));
    expect(await run(traces)).toEqual({ code: 0, printed: ["2 passed, 0 failed"], complaints: [] });
    expect(await run(traces, traces)).toMatchObject({ code: 0, printed: ["4 passed, 0 failed"] });
  });

  test("prints each difference, then the count, and exits with 1", async () => {
    const path = file(JSON.stringify([pair, doctored(shop, 1, { died: [] })]));
    const { code, printed, complaints } = await run(path);
    expect(code).toBe(1);
    expect(printed).toEqual([
      `${path}: scenario shop, step 1: ["signal","s1","kill"]\n` +
        '  expected {"died":[]}\n' +
        '  got      {"died":[["s1","killed"],["w1","killed"],["w2","killed"]]}',
      "1 passed, 1 failed",
    ]);
    expect(complaints).toEqual([]);
  });

  test("without a file says how it is used, and exits with 2", async () => {
    const { code, printed, complaints } = await run();
    expect({ code, printed }).toEqual({ code: 2, printed: [] });
    expect(complaints).toEqual([expect.stringMatching(/^usage: npm run conformance -- FILE/)]);
  });

  test.each([
    ["no JSON", "[{\n  nonsense", /: not JSON: /],
    ["no array", '{"id":"a","steps":[]}', /: not an array of scenarios$/],
    ["an array of something else", "[1]", /: scenario 0 is not an object$/],
    ["a scenario without an id", '[{"steps":[]}]', /: scenario 0 has no id$/],
    ["a scenario without steps", '[{"id":"a"}]', /: scenario a has no steps$/],
    ["no tree", '[{"id":"a","tree":["sup","s1"],"steps":[]}]', /: scenario a: its tree is not one$/],
    [
      "no table",
      '[{"id":"a","trap":true,"init":[["ok"]],"terminate":"ok","on":1,"steps":[]}]',
      /: scenario a: on is no table$/,
    ],
    [
      "a cell that is none",
      '[{"id":"a","trap":true,"init":[["ok"]],"terminate":"ok","on":{"timeout":[["noreply"],3]},"steps":[]}]',
      /: scenario a: on\["timeout"\] is no list of reactions$/,
    ],
    [
      "no init",
      '[{"id":"a","trap":true,"init":[],"terminate":"ok","on":{},"steps":[]}]',
      /: scenario a: init is no reaction$/,
    ],
    [
      "no terminate",
      '[{"id":"a","trap":true,"init":[["ok"]],"terminate":["linger"],"on":{},"steps":[]}]',
      /: scenario a: terminate is none$/,
    ],
    [
      "no trap",
      '[{"id":"a","init":[["ok"]],"terminate":"ok","on":{},"steps":[]}]',
      /: scenario a: trap is neither true nor false$/,
    ],
    [
      "an unknown operation in a burst",
      '[{"id":"a","trap":true,"init":[["ok"]],"terminate":"ok","on":{},"steps":[{"op":["burst",[["sleep",20]]]}]}]',
      /scenario a, step 0: .*\["burst",\[\["sleep",20\]\]\]$/,
    ],
    [
      "an unknown operation",
      '[{"id":"a","steps":[{"op":["jump","p1"]}]}]',
      /scenario a, step 0: .*\["jump","p1"\]$/,
    ],
    [
      "a node that is none",
      '[{"id":"a","nodes":{"p1":"n3"},"steps":[]}]',
      /: scenario a: its nodes are not n1 and n2$/,
    ],
    [
      "a process on no node",
      '[{"id":"a","nodes":{"p1":"n1"},"steps":[{"op":["spawn","p2",true]}]}]',
      /scenario a, step 0: .*\["spawn","p2",true\]$/,
    ],
    [
      "operations that heal while signals cross",
      '[{"id":"a","nodes":{"p1":"n1"},"steps":[{"op":["together",[["heal","n1","n2"]]]}]}]',
      /scenario a, step 0: .*\["together",\[\["heal","n1","n2"\]\]\]$/,
    ],
    [
      "an operand missing",
      '[{"id":"a","steps":[{"op":["spawn","p1"]}]}]',
      /scenario a, step 0: .*\["spawn","p1"\]$/,
    ],
    [
      "an inherited name",
      '[{"id":"a","steps":[{"op":["constructor"]}]}]',
      /scenario a, step 0: .*\["constructor"\]$/,
    ],
  ])("given a file with %s says so in one line, and exits with 2", async (_what, text, complaint) => {
    const path = file(text);
    const { code, printed, complaints } = await run(traceFile("links"), path);
    expect({ code, printed }).toEqual({ code: 2, printed: [] });
    expect(complaints).toEqual([expect.stringMatching(complaint)]);
    expect(complaints[0]).toContain(path);
    expect(complaints[0]).not.toContain("\n");
    expect(() => parseTraces(text)).toThrow(TraceError);
  });

  test("given a file that is not there says so in one line, and exits with 2", async () => {
    const { code, complaints } = await run(join(folder, "nowhere.json"));
    expect(code).toBe(2);
    expect(complaints).toEqual([expect.stringMatching(/nowhere\.json: ENOENT/)]);
  });
});
