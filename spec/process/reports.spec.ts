// Reports as records: what is in them, to whom they go, and how many there are at most.

import {
  type BodyContext,
  type ExitReason,
  loggerReport,
  type Report,
  type ReportLogger,
  type ReportOptions,
  System,
  type SystemOptions,
  supervisor,
} from "signalbox";
import { beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";

interface Login {
  readonly user: string;
  readonly password: string;
}

let clock: TestClock;
let reports: Report[];
beforeEach(() => {
  clock = testClock();
  reports = [];
});

function systemOf(report: ReportOptions, limits?: SystemOptions["limits"]): System {
  return new System({
    name: "shop",
    environment: clock.environment,
    report: { to: (_text, record) => void reports.push(record), ...report },
    ...(limits === undefined ? {} : { limits }),
  });
}

const boom = new Error("no such user");

/** A clerk of a floor crashes at this message. */
async function crashAt(system: System, message: unknown): Promise<void> {
  const floor = system.spawn<unknown>(
    {
      handle: (ctx, given) => {
        const clerk = ctx.spawn<unknown>(
          {
            handle: () => {
              throw boom;
            },
          },
          { label: "clerk" },
        );
        ctx.send(clerk, given);
      },
    },
    { label: "floor" },
  );
  system.send(floor, message);
  await system.idle();
}

const login: Login = { user: "ann", password: "secret" };

describe("the report of a crash", () => {
  it("has the level, the event, the process and the reason [R1]", async () => {
    await using system = systemOf({});
    await crashAt(system, login);
    expect(reports).toMatchObject([
      { level: "error", event: "crash", path: "shop/floor/clerk", reason: { type: "crash" }, error: boom },
    ]);
    expect(String(reports[0]?.pid)).toBe("<shop.2 clerk>");
    expect(reports[0]?.text).toContain("reports.spec.ts");
  });

  it("leaves the last message out by default, and shows the part that `redact` returns when asked for [R2]", async () => {
    const redact = (message: unknown): unknown => ({ ...(message as Login), password: "…" });
    const cases: readonly (readonly [ReportOptions, unknown, string])[] = [
      [{}, undefined, ""],
      [{ redact }, undefined, ""],
      [{ messages: true }, login, ' at message {"user":"ann","password":"secret"}'],
      [
        { messages: true, redact },
        { user: "ann", password: "…" },
        ' at message {"user":"ann","password":"…"}',
      ],
      [
        {
          messages: true,
          redact: () => {
            throw new Error("not even this");
          },
        },
        undefined,
        "",
      ],
    ];
    for (const [options, message, said] of cases) {
      await using system = systemOf(options);
      await crashAt(system, login);
      const report = reports.pop();
      expect(report?.message).toEqual(message);
      expect(report?.text.split("\n")[0]).toMatch(
        new RegExp(`no such user${said.replaceAll(/[{}]/g, "\\$&")}$`),
      );
    }
  });

  it("has a cost independent of the size of the message, with any listener [R3]", async () => {
    let looked = 0;
    const spy: ProxyHandler<object> = {
      get: (target, key) => {
        looked++;
        return Reflect.get(target, key);
      },
      getOwnPropertyDescriptor: (target, key) => {
        looked++;
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    };
    const huge = new Proxy(new Array<number>(1_000_000).fill(7), spy);
    for (const options of [{}, { messages: true }]) {
      await using system = systemOf(options);
      system.events.on("crash", () => undefined);
      await crashAt(system, huge);
      await using silent = new System({ environment: clock.environment, report: false });
      await crashAt(silent, huge);
    }
    expect(looked).toBeLessThan(200);
    expect(Math.max(...reports.map(({ text }) => text.length))).toBeLessThan(5_000);
  });

  it("reaches a logger in pino's order: fields first, text second", async () => {
    const lines: (readonly [string, object, string])[] = [];
    const logger = Object.fromEntries(
      ["trace", "debug", "info", "warn", "error"].map((level) => [
        level,
        (fields: object, text: string) => void lines.push([level, fields, text]),
      ]),
    ) as ReportLogger;
    await using system = systemOf({ to: loggerReport(logger), messages: true });
    await crashAt(system, login);
    expect(lines).toEqual([
      [
        "error",
        {
          event: "crash",
          pid: "<shop.2 clerk>",
          path: "shop/floor/clerk",
          reason: "crash, Error: no such user",
          err: expect.objectContaining({ message: "no such user" }),
          lastMessage: login,
        },
        expect.stringContaining("<shop.2 clerk> ended"),
      ],
    ]);
  });
});

describe("the path of a process", () => {
  it("goes as far up as the ancestors are alive, up to a readable length", async () => {
    await using system = systemOf({});
    const chain =
      (depth: number) =>
      (ctx: BodyContext<never>): unknown => {
        if (depth === 0) throw boom;
        ctx.spawn(chain(depth - 1), { label: String(depth) });
        return ctx.receive();
      };
    system.spawn(chain(30), { label: "top" });
    await system.idle();
    expect(reports[0]?.path).toMatch(/^shop\/16\/.*\/2\/1$/);
  });
});

describe("a storm of reports", () => {
  const storm = (system: System, crashes: number): void => {
    for (let i = 0; i < crashes; i++)
      system.spawn(() => {
        throw boom;
      });
  };

  it("prints up to the limit each second, and then one line that counts the rest [R4]", async () => {
    await using system = systemOf({}, { reportsPerSecond: 5 });
    storm(system, 1_000);
    await system.idle();
    expect(reports.map(({ event }) => event)).toEqual(Array(5).fill("crash"));
    await clock.advance(1_000);
    expect(reports).toHaveLength(6);
    expect(reports[5]).toMatchObject({ level: "warn", event: "suppressed", path: "shop" });
    expect(reports[5]?.text).toBe(
      "shop: 995 more reports left out (crash); 5 a second are printed (reportsPerSecond)",
    );
    storm(system, 1);
    await system.idle();
    expect(reports).toHaveLength(7);
    expect(system.kernel.pendingTimers).toBe(0);
  });

  it("hides nothing of another kind behind a flood, least of all that a supervisor gives up [R7]", async () => {
    await using system = systemOf({});
    storm(system, 1_000);
    await system.idle();
    const clerk = async (): Promise<void> => {
      throw boom;
    };
    const floor = supervisor({ intensity: 0, children: [{ id: "clerk", start: clerk }] });
    for (let i = 0; i < 30; i++) void system.start(floor);
    await system.idle();
    const kinds = reports.map(({ event }) => event);
    expect(kinds.filter((kind) => kind === "crash")).toHaveLength(20);
    expect(kinds.filter((kind) => kind === "gaveUp")).toHaveLength(30);
  });

  it("counts the reports left out also when the system stops", async () => {
    const system = systemOf({}, { reportsPerSecond: 1 });
    storm(system, 3);
    await system.idle();
    await system.stop();
    expect(reports.map(({ event }) => event)).toEqual(["crash", "suppressed"]);
    expect(clock.pendingAlarms).toBe(0);
  });

  it("builds no report that is neither printed nor has a listener", async () => {
    let reads = 0;
    const error = Object.defineProperty(new Error("boom"), "stack", { get: () => `stack ${++reads}` });
    const throwing = (system: System): void =>
      void system.spawn(() => {
        throw error;
      });
    await using system = systemOf({}, { reportsPerSecond: 1 });
    await using silent = new System({ environment: clock.environment, report: false });
    for (let i = 0; i < 10; i++) throwing(system);
    throwing(silent);
    await clock.settle();
    expect(reads).toBe(1);
  });
});

describe("options of reports", () => {
  it.each([
    [{ to: "stderr" }, "report.to", "a function"],
    [{ messages: 1 }, "report.messages", "a boolean"],
    [{ redact: true }, "report.redact", "a function"],
    [{ message: true }, "report.message", "absent"],
    [{ toString: true }, "report.toString", "absent"],
  ])("are checked: %j", (report, path, allowed) => {
    const make = (): System => new System({ report: report as ReportOptions });
    expect(make).toThrow(expect.objectContaining({ code: "ERR_OPTION", path }));
    expect(make).toThrow(`must be ${allowed}`);
  });

  it("go to standard error when only the other options are set", async () => {
    const reason: ExitReason = { type: "custom", value: "boom" };
    const original = console.error;
    const lines: string[] = [];
    console.error = (line: string) => void lines.push(line);
    try {
      await using system = new System({ report: { messages: true } });
      system.spawn((ctx) => ctx.exit(reason));
      await system.idle();
    } finally {
      console.error = original;
    }
    expect(lines).toEqual([expect.stringContaining('custom "boom"')]);
  });
});
