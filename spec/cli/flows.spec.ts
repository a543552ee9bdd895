// `signalbox flows`, with operations that answer what they are told to.

import { beforeEach, describe, expect, test } from "vitest";
import { RemoteOperationError } from "../../lib/admin/errors.js";
import type { FlowsHost } from "../../lib/cli/flows/context.js";
import { flows } from "../../lib/cli/flows/flows.js";
import type { FlowDetails, FlowListOptions, FlowSummary } from "../../lib/flow/operations/operations.js";
import { fakeOperations } from "../flow/operations/support/fake-operations.js";

const NOW = Date.UTC(2026, 10, 22, 12);

interface Ran {
  readonly code: number;
  readonly printed: string;
  readonly complaints: string;
  readonly calls: unknown[][];
  readonly opened: string[];
  readonly closed: number;
}

async function run(
  args: readonly string[],
  answers: Parameters<typeof fakeOperations>[0] = {},
  host: Partial<FlowsHost> = {},
): Promise<Ran> {
  const [printed, complaints, opened] = [[] as string[], [] as string[], [] as string[]];
  const { operations, calls } = fakeOperations(answers);
  let closed = 0;
  const code = await flows(args, {
    print: (text) => void printed.push(text),
    complain: (text) => void complaints.push(text),
    columns: undefined,
    colours: false,
    defaultStore: undefined,
    now: () => NOW,
    moment: (text) => (/^\d{4}-/.test(text) ? Date.parse(text) : undefined),
    iso: (moment) => new Date(moment).toISOString(),
    absolute: (path) => `/here/${path}`,
    open: async (store) => {
      opened.push(store);
      return {
        operations,
        through: "a test",
        close: async () => {
          closed++;
        },
      };
    },
    load: async () => ({}),
    openStore: () => Promise.reject(new Error("there is no store")),
    ...host,
  });
  return {
    ...{ code, printed: printed.join("\n"), complaints: complaints.join("\n"), calls },
    ...{ opened, closed },
  };
}

const STORE = ["--store", "flows.db"];
const minutes = (count: number): number => NOW - count * 60_000;
const order: FlowSummary = {
  ...{ id: "order-1", name: "checkout", version: 2, status: "waiting" },
  ...{ createdAt: minutes(90), updatedAt: minutes(3), dueAt: NOW + 7_200_000 },
};
const broken: FlowSummary = {
  ...{ id: "order-2", name: "checkout", version: 1, status: "hospitalized" },
  ...{ createdAt: minutes(4_000), updatedAt: minutes(0), problem: "TypeError: no such\naccount" },
};
const details: FlowDetails = {
  ...order,
  input: { total: 5 },
  generation: 0,
  entries: 3,
  pending: [{ kind: "receive", key: "approval", dueAt: NOW + 60_000 }],
  mail: [{ id: "m", topic: "hello", at: minutes(1) }],
  children: [{ ...broken, id: "child" }],
};

describe("list", () => {
  test("prints a table whose columns are aligned, without those that are empty", async () => {
    const { printed, code, closed } = await run(["list", ...STORE], { list: { flows: [order, broken] } });
    expect(printed).toBe(
      [
        "ID       NAME         STATUS        STARTED  CHANGED    DUE     PROBLEM",
        "order-1  checkout v2  waiting       1 h ago  3 min ago  in 2 h",
        "order-2  checkout     hospitalized  2 d ago  0 ms ago           TypeError: no such account",
      ].join("\n"),
    );
    expect({ code, closed }).toEqual({ code: 0, closed: 1 });
  });

  test("keeps to the width of the terminal", async () => {
    const { printed } = await run(["list", ...STORE], { list: { flows: [order, broken] } }, { columns: 76 });
    for (const line of printed.split("\n")) expect(line.length).toBeLessThanOrEqual(76);
    expect(printed).toContain("TypeError: …");
  });

  test("has colours only where they are wanted, and never in JSON", async () => {
    const answers = { list: { flows: [order] } };
    const code = "\u001b[";
    expect((await run(["list", ...STORE], answers, { colours: true })).printed).toContain(
      `${code}90mwaiting`,
    );
    expect((await run(["list", ...STORE], answers)).printed).not.toContain(code);
    expect((await run(["list", "--json", ...STORE], answers, { colours: true })).printed).not.toContain(
      escape,
    );
  });

  test("prints one JSON document", async () => {
    const page = { flows: [order], next: "17" };
    const { printed } = await run(["list", "--json", "--limit", "1", ...STORE], { list: page });
    expect(JSON.parse(printed)).toEqual(page);
  });

  test("passes on what it filters by", async () => {
    const { calls } = await run(
      [
        ...["list", "--status", "failed", "--status", "paused", "--name", "checkout", "--version", "2"],
        ...["--id", "order-", "--queue", "q", "--parent", "p", "--created-after", "2026-11-01T00:00Z"],
        ...["--created-before", "2 days", "--updated-after", "3h", "--updated-before", "1 min"],
        ...["--oldest", "--limit", "7", "--cursor", "9", ...STORE],
      ],
      { list: { flows: [] } },
    );
    expect(calls).toEqual([
      [
        "list",
        {
          ...{ status: ["failed", "paused"], name: "checkout", version: 2, idPrefix: "order-" },
          ...{
            queue: "q",
            parent: "p",
            createdFrom: Date.UTC(2026, 10, 1),
            createdBelow: minutes(2 * 1_440),
          },
          ...{ updatedFrom: minutes(180), updatedBelow: minutes(1), order: "oldest", cursor: "9", limit: 7 },
        },
      ],
    ]);
  });

  test("takes page after page until there are enough, and says how to go on", async () => {
    const list = ({ cursor = "0", limit }: FlowListOptions) => ({
      flows: Array.from({ length: Math.min(limit as number, 3) }, (_, i) => ({
        ...order,
        id: `${cursor}-${i}`,
      })),
      next: String(Number(cursor) + 1),
    });
    const { printed, calls } = await run(["list", "--limit", "5", ...STORE], { list });
    expect(calls.map(([, options]) => (options as FlowListOptions).limit)).toEqual([5, 2]);
    expect(printed.split("\n")).toHaveLength(7);
    expect(printed).toContain("more: --cursor 2");
  });

  test("says so when there is nothing", async () => {
    expect((await run(["list", ...STORE], { list: { flows: [] } })).printed).toBe("no flows");
  });

  test("lets no control character of a store through to the terminal [Z7]", async () => {
    const bad = (text: string): string => `${text}\u001b[5m\u001b]0;own\u0007\u009b31m\r\n\u202e\u{e0041}`;
    const flow = {
      ...broken,
      id: bad("a"),
      name: bad("x"),
      problem: bad("p"),
      queue: bad("q"),
      wish: bad("w"),
    };
    const shown = {
      ...{ ...details, ...flow, parent: bad("p"), input: bad("i"), progress: bad("p"), error: bad("e") },
      pending: [{ kind: bad("k"), key: bad("k") }],
      mail: [{ id: bad("m"), topic: bad("t"), at: NOW, sender: bad("s") }],
      children: [flow],
    };
    const event = { seq: 0, at: NOW, key: bad("k"), value: { [bad("k")]: new Error(bad("v")) }, asks: [] };
    const answers = {
      list: { flows: [flow] },
      inspect: shown,
      history: ["done", "error", "retry", "unreadable"].map((type) => ({ ...event, type })),
      outcome: { status: "failed", error: bad("e") },
      fork: bad("f"),
      start: bad("s"),
      pause: () => Promise.reject(new Error(bad("no"))),
      resume: null,
    };
    const commands = [["list"], ["show", "a"], ["history", "a"], ["await", "a"], ["fork", "a"]];
    commands.push(
      ["start", "a"],
      ["pause", bad("a")],
      ["resume", bad("a")],
      ["hospital"],
      ["send"],
      [bad("x")],
    );
    for (const command of commands)
      for (const more of [[], ["--json"]])
        for (const colours of [false, true]) {
          const { printed, complaints } = await run([...command, ...more, ...STORE], answers, { colours });
          // The command's own colours are no text of others.
          const text = (printed + complaints).replace(/\p{Cc}\[(0|3[1-5]|90)m/gu, "");
          expect(text.replaceAll("\n", ""), command[0]).not.toMatch(/[\p{Cc}\p{Cf}]/u);
          if (more.length > 0) expect(() => JSON.parse(printed), command[0]).not.toThrow();
        }
    const { printed } = await run(["show", "a", "--json", ...STORE], answers);
    expect(JSON.parse(printed).input).toBe(bad("i"));
  });
});

describe("show", () => {
  test("tells what a flow is, and what it waits for", async () => {
    const { printed } = await run(["show", "order-1", ...STORE], { inspect: details });
    expect(printed).toBe(
      [
        "flow       order-1",
        "definition checkout, version 2",
        "status     waiting",
        "started    2026-11-22T10:30:00.000Z (1 h ago)",
        "changed    2026-11-22T11:57:00.000Z (3 min ago)",
        "due        2026-11-22T14:00:00.000Z (in 2 h)",
        "journal    3 entries",
        'input      {"total":5}',
        "waits for",
        "  receive approval, due in 1 min",
        "unread messages",
        "  hello, 1 min ago",
        "children",
        "  child, checkout: hospitalized",
      ].join("\n"),
    );
  });

  test("prints values that are no JSON, such as errors, as they are over the socket", async () => {
    const answers = { inspect: { ...details, error: new RangeError("too much") } };
    expect((await run(["show", "order-1", ...STORE], answers)).printed).toContain(
      'error      {"name":"RangeError","message":"too much"}',
    );
    const { printed } = await run(["show", "order-1", "--json", ...STORE], answers);
    expect(JSON.parse(printed).error).toEqual({ name: "RangeError", message: "too much" });
  });

  test("prints all of it as JSON", async () => {
    const { printed } = await run(["show", "order-1", "--json", ...STORE], { inspect: details });
    expect(JSON.parse(printed)).toEqual(details);
  });
});

test("history prints a line for each entry, and with --json one document", async () => {
  const events = [
    { seq: 0, at: NOW, type: "done", key: "charge", value: { paid: true }, asks: [] },
    {
      seq: 1,
      at: NOW,
      type: "retry",
      key: "ship",
      value: { message: "busy" },
      attempt: 1,
      dueAt: NOW + 1_000,
      asks: [],
    },
    { seq: 2, at: NOW, type: "error", key: "ship", value: { message: "busy" }, asks: [] },
    { seq: 3, at: NOW, type: "cancelled", asks: [] },
  ];
  const { printed, calls } = await run(["history", "a", "--after", "-1", "--limit", "9", ...STORE], {
    history: events,
  });
  expect(calls).toEqual([["history", "a", { after: -1, limit: 9 }]]);
  expect(printed).toBe(
    [
      '    0  2026-11-22T12:00:00.000Z  charge {"paid":true}',
      '    1  2026-11-22T12:00:00.000Z  attempt 1 failed ship, until 2026-11-22T12:00:01.000Z {"message":"busy"}',
      '    2  2026-11-22T12:00:00.000Z  failed ship {"message":"busy"}',
      "    3  2026-11-22T12:00:00.000Z  cancelled",
    ].join("\n"),
  );
  const json = await run(["history", "a", "--json", ...STORE], { history: events });
  expect(JSON.parse(json.printed)).toEqual({ events });
});

test("events prints a line for each published event, and with --json one document", async () => {
  const events = [
    { position: 7, at: NOW, topic: "arrived", value: { at: "the depot" } },
    { position: 12, at: NOW, topic: "empty", value: undefined },
  ];
  const args = ["--after", "3", "--topic", "arrived", "--follow"];
  const { printed, calls } = await run(["events", "a", ...args, ...STORE], { events });
  expect(calls).toEqual([["events", "a", { follow: true, topic: "arrived", after: 3 }]]);
  expect(printed).toBe(
    [
      '    7  2026-11-22T12:00:00.000Z  arrived {"at":"the depot"}',
      "   12  2026-11-22T12:00:00.000Z  empty",
    ].join("\n"),
  );
  const json = await run(["events", "a", "--json", ...STORE], { events: events.slice(0, 1) });
  expect(JSON.parse(json.printed)).toEqual({ events: events.slice(0, 1) });
  expect(json.calls).toEqual([["events", "a", { follow: false }]]);
});

test("metrics shows counts and delays", async () => {
  const counts = { pending: 1, running: 20, waiting: 3, paused: 0, hospitalized: 0 };
  const metrics = {
    counts: { ...counts, completed: 100_000, failed: 0, cancelled: 0, killed: 0 },
    ...{ oldestPendingMs: 65_000, lagMs: 12, inHospital: 0 },
  };
  const { printed } = await run(["metrics", ...STORE], { metrics });
  expect(printed).toContain("STATUS         FLOWS\npending            1\n");
  expect(printed).toContain("completed     100000");
  expect(printed).toMatch(/oldest pending {2}1 min\nlag {13}12 ms$/);
});

describe("queues and schedules of flows", () => {
  const rules = {
    ...{ timeZone: "UTC", missed: "last", overlap: "allow", jitterMs: 0, graceMs: 0, backfill: 1 },
  };
  const nightly = {
    ...{ name: "nightly", flow: "report", rules: { ...rules, cron: "30 2 * * *" }, paused: false },
    ...{ due: NOW + 7_200_000, fired: minutes(1_440), last: "nightly/2026-11-21", skipped: 2 },
  };
  const hourly = {
    ...{ name: "hourly", flow: "sync", rules: { ...rules, everyMs: 3_600_000 }, paused: true, skipped: 0 },
  };

  test("schedules shows when each is due next, and what it started last", async () => {
    const { printed } = await run(["schedules", ...STORE], { schedules: [hourly, nightly] });
    expect(printed).toBe(
      [
        "SCHEDULE  FLOW    RULE            NEXT    LAST     LAST FLOW           SKIPPED",
        "hourly    sync    every 1 h       paused",
        "nightly   report  30 2 * * * UTC  in 2 h  1 d ago  nightly/2026-11-21        2",
      ].join("\n"),
    );
    const json = await run(["schedules", "--json", ...STORE], { schedules: [nightly] });
    expect(JSON.parse(json.printed)).toEqual({ schedules: [nightly] });
    expect((await run(["schedules", ...STORE], { schedules: [] })).printed).toBe("no schedules");
  });

  test("schedules pauses and resumes by name first", async () => {
    const args = ["schedules", "--pause", "a", "--pause", "b", "--resume", "c", ...STORE];
    const { calls } = await run(args, { schedules: [] });
    expect(calls).toEqual([
      ["pauseSchedule", "a"],
      ["pauseSchedule", "b"],
      ["resumeSchedule", "c"],
      ["schedules"],
    ]);
    const code = "ERR_SCHEDULE_NOT_FOUND";
    const pauseSchedule = () => Promise.reject(new RemoteOperationError("no", { name: "X", code }));
    expect((await run(args, { pauseSchedule })).code).toBe(1);
  });

  test("queues shows limits, and what runs, waits and is held back", async () => {
    const rate = { limit: 100, periodMs: 60_000 };
    const queues = [
      ...[
        {
          name: "emails",
          limits: { concurrency: 10, rate, perKey: 1 },
          running: 3,
          waiting: 7,
          heldByRate: 7,
        },
      ],
      { name: "old", running: 0, waiting: 1, heldByRate: 0 },
    ];
    const { printed } = await run(["queues", ...STORE], { queues });
    expect(printed).toBe(
      [
        "QUEUE   LIMITS                             RUNNING  WAITING  HELD BY RATE",
        "emails  10 at once, 100 in 1 min, 1 a key        3        7             7",
        "old     unknown                                  0        1             0",
      ].join("\n"),
    );
    const json = await run(["queues", "--json", ...STORE], { queues });
    expect(JSON.parse(json.printed)).toEqual({ queues });
    expect((await run(["queues", ...STORE], { queues: [] })).printed).toBe("no queues");
  });
});

describe("a change", () => {
  test.each<[string[], unknown[]]>([
    [
      ["pause", "a"],
      ["pause", "a"],
    ],
    [
      ["resume", "a"],
      ["resume", "a"],
    ],
    [
      ["cancel", "a"],
      ["cancel", "a"],
    ],
    [
      ["kill", "a"],
      ["kill", "a"],
    ],
    [
      ["retry", "a"],
      ["retry", "a", {}],
    ],
    [
      ["retry", "a", "--from", "charge#2"],
      ["retry", "a", { from: "charge#2" }],
    ],
    [
      ["discharge", "a"],
      ["discharge", "a"],
    ],
    [
      ["remove", "a"],
      ["remove", "a"],
    ],
    [
      ["fork", "a", "--from", "x", "--result", "[1]"],
      ["fork", "a", { from: "x", result: [1] }],
    ],
    [
      ["fork", "a", "--id", "b", "--input", '"x"'],
      ["fork", "a", { id: "b", input: "x" }],
    ],
    [
      ["start", "order", '{"total":5}', "--id", "a"],
      ["start", "order", { total: 5 }, { id: "a" }],
    ],
    [
      ["start", "order"],
      ["start", "order", undefined, {}],
    ],
    [
      ["send", "a", "approval", "true"],
      ["send", "a", "approval", true, {}],
    ],
    [
      ["send", "a", "go", "--message-id", "m"],
      ["send", "a", "go", undefined, { id: "m" }],
    ],
    [
      ["await", "a", "--timeout", "5 min"],
      ["outcome", "a", { timeoutMs: 300_000 }],
    ],
    [
      ["prune", "--older-than", "30 days"],
      ["prune", { olderThanMs: 2_592_000_000 }],
    ],
    [
      ["prune", "--older-than", "1h", "--status", "failed", "--name", "order"],
      ["prune", { olderThanMs: 3_600_000, status: ["failed"], name: "order" }],
    ],
    [
      ["prune", "--keep", "100"],
      ["prune", { keep: 100 }],
    ],
    [
      ["backup", "copy.db"],
      ["backup", "/here/copy.db"],
    ],
  ])("%j is carried out", async (args, call) => {
    const answers = { outcome: { status: "completed", result: 1 }, prune: 3, fork: "b", start: "a" };
    const { calls, code, complaints } = await run([...args, ...STORE], answers);
    expect(complaints).toBe("");
    expect(calls).toEqual([call]);
    expect(code).toBe(0);
  });

  test("of several flows goes on behind one that refuses, and ends with 1", async () => {
    const pause = (id: string) => {
      if (id === "b")
        throw new RemoteOperationError('there is no flow "b"', { name: "X", code: "ERR_FLOW_NOT_FOUND" });
    };
    const { printed, complaints, code } = await run(["pause", "a", "b", "c", ...STORE], { pause });
    expect({ printed, complaints, code }).toEqual({
      printed: "a: pauses\nc: pauses",
      complaints: 'signalbox: there is no flow "b"',
      code: 1,
    });
    const json = await run(["pause", "a", "b", "--json", ...STORE], { pause });
    expect(JSON.parse(json.printed)).toEqual([
      { id: "a", ok: true },
      { id: "b", ok: false, error: 'there is no flow "b"' },
    ]);
  });

  test("await ends with 1 when the flow did not complete", async () => {
    const outcome = { status: "failed", error: { message: "no" } };
    const { printed, code } = await run(["await", "a", ...STORE], { outcome });
    expect({ printed, code }).toEqual({ printed: 'failed: {"message":"no"}', code: 1 });
  });
});

describe("what is wrong", () => {
  const refuse = (code: string) => () => {
    throw new RemoteOperationError("it said no", { name: "X", code });
  };

  test.each([
    [["lst"], "there is no command flows lst: did you mean list?"],
    [["--json", "list"], "the command comes before its options"],
    [["list", "--stat", "x", ...STORE], "flows list: there is no option --stat"],
    [["list", "--statuss", "x", ...STORE], "did you mean --status?"],
    [["list", "x", ...STORE], "flows list: too many arguments: x"],
    [["show", ...STORE], "flows show: ID is missing"],
    [["pause", ...STORE], "flows pause: ID is missing"],
    [["send", "a", ...STORE], "flows send: TOPIC is missing"],
    [["list"], "which store?"],
    [["list", "--status", "done", ...STORE], "--status must be one of pending"],
    [["list", "--limit", "0", ...STORE], "--limit must be a whole number, 1 or more"],
    [["list", "--limit", "x", ...STORE], "--limit must be a whole number"],
    [["list", "--version", "", ...STORE], "--version must be a whole number, 1 or more"],
    [["list", "--created-after", "yesterday", ...STORE], "--created-after must be a moment such as"],
    [["prune", ...STORE], "--older-than or --keep is required"],
    [["prune", "--keep", "0", ...STORE], "--keep must be a whole number, 1 or more"],
    [["prune", "--older-than", "1 month", ...STORE], "--older-than must be a length of time"],
    [["start", "order", "{total:5}", ...STORE], "INPUT must be JSON"],
    [["fork", "a", "--input", "x", ...STORE], "--input must be JSON"],
  ])("%j ends with 2: %s", async (args, text) => {
    const { complaints, code, calls, opened, closed } = await run(args);
    expect(complaints).toContain(text);
    expect(code).toBe(2);
    expect(calls).toEqual([]);
    expect(closed).toBe(opened.length);
  });

  test.each([
    ["ERR_FLOW_NOT_FOUND", 1],
    ["ERR_FLOW_STATE", 1],
    ["ERR_FLOW_WAIT_TIMEOUT", 1],
    ["ERR_ADMIN_PROTOCOL", 2],
    ["ERR_OPTION", 2],
  ])("a host that answers %s ends the command with %i", async (code, exit) => {
    const ran = await run(["show", "a", ...STORE], { inspect: refuse(code) });
    expect(ran).toMatchObject({ code: exit, complaints: "signalbox: it said no", closed: 1 });
  });

  test("a store that cannot be opened ends it with 2", async () => {
    const open = () => Promise.reject(new Error("there is no file"));
    expect(await run(["list", ...STORE], {}, { open })).toMatchObject({
      code: 2,
      complaints: "signalbox: there is no file",
    });
  });
});

describe("with --json", () => {
  test("a failure is a document, too [Z19]", async () => {
    const inspect = () => {
      throw new RemoteOperationError("it said no", { name: "FlowStateError", code: "ERR_FLOW_STATE" });
    };
    const { printed, complaints, code } = await run(["show", "a", "--json", ...STORE], { inspect });
    const error = { name: "FlowStateError", code: "ERR_FLOW_STATE", message: "it said no" };
    expect(JSON.parse(printed)).toEqual({ error });
    expect({ complaints, code }).toEqual({ complaints: "signalbox: it said no", code: 1 });
    for (const args of [["lst"], ["list", "--limit", "x", ...STORE], ["list"], []])
      JSON.parse((await run([...args, "--json"])).printed);
  });

  test("a list that breaks off closes its document with the error [Z19]", async () => {
    const one = { seq: 0, at: NOW, type: "done", key: "charge", asks: [] };
    const history = async function* () {
      yield one;
      throw new Error("the host did not answer");
    };
    const { operations } = fakeOperations();
    const open = async () => ({
      operations: Object.assign(Object.create(operations), { history }),
      ...{ through: "a test", close: async () => undefined },
    });
    const { printed, complaints, code } = await run(["history", "a", "--json", ...STORE], {}, { open });
    expect(JSON.parse(printed)).toEqual({
      events: [one],
      error: { name: "Error", message: "the host did not answer" },
    });
    expect({ complaints, code }).toEqual({ complaints: "signalbox: the host did not answer", code: 2 });
  });

  test("a list without items is one [Z19]", async () => {
    const { printed } = await run(["history", "a", "--json", ...STORE], { history: [] });
    expect(JSON.parse(printed)).toEqual({ events: [] });
  });

  test("a change that loses its host ends with 2, and one that is refused with 1 [Z20]", async () => {
    const lost = () => Promise.reject(new RemoteOperationError("the host did not answer", { name: "Error" }));
    expect((await run(["pause", "a", ...STORE], { pause: lost })).code).toBe(2);
    const code = "ERR_FLOW_STATE";
    const no = () => Promise.reject(new RemoteOperationError("it has ended", { name: "X", code }));
    expect((await run(["pause", "a", ...STORE], { pause: no })).code).toBe(1);
  });
});

describe("help", () => {
  test("lists the commands, each of which shows its arguments", async () => {
    const { printed, code } = await run([]);
    expect(code).toBe(0);
    const names = [...printed.matchAll(/^ {2}(\w+) {2,}\w/gm)].map(([, name]) => name as string);
    expect(names).toEqual(expect.arrayContaining(["list", "history", "fork", "await", "prune", "backup"]));
    for (const name of names) {
      const help = await run([name, "--help"]);
      expect(help.printed, name).toMatch(new RegExp(`^usage: signalbox flows ${name}\\b`));
      expect(help.printed).toContain("--store STORE");
      expect(help.opened).toEqual([]);
    }
  });

  test("SIGNALBOX_STORE is the default of --store", async () => {
    const host = { defaultStore: "other.db" };
    expect((await run(["list"], { list: { flows: [] } }, host)).opened).toEqual(["other.db"]);
    expect((await run(["list", ...STORE], { list: { flows: [] } }, host)).opened).toEqual(["flows.db"]);
  });
});

beforeEach(() => expect.hasAssertions());
