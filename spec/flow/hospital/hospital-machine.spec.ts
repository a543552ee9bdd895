// The rules of the hospital one by one, without a process.

import { describe, expect, it } from "vitest";
import { HOSPITAL_DEFAULTS, visitWaitMs } from "../../../lib/flow/hospital/defaults.js";
import { symptomOf } from "../../../lib/flow/hospital/symptom.js";
import { Driven, symptom, told } from "./support.js";

describe("the default staff", () => {
  it.each([
    ["deadlock", "discharge"],
    ["timeout", "discharge"],
    ["constraint", "discharge"],
    ["connection", "discharge"],
    ["exhausted", "discharge"],
    ["server", "discharge"],
    ["engine", "discharge"],
    ["store", "observe"],
    ["divergence", "observe"],
    ["payload", "observe"],
    ["definition", "observe"],
    ["crash-loop", "wait 60000"],
    ["requested", "observe"],
    ["final", "fail"],
    ["code", "fail"],
  ] as const)("meets a symptom of kind %s with: %s [N1]", (kind, decided) => {
    expect(new Driven().fail(kind)).toBe(decided);
  });

  it.each(["constraint", "server", "engine"] as const)(
    "discharges a flow for %s three times without progress, then observes it [N2]",
    (kind) => {
      const hospital = new Driven({ backoff: { minMs: 0, maxMs: 0 } });
      const visits = [1, 2, 3, 4].map(() => hospital.fail(kind));
      expect(visits).toEqual(["discharge", "discharge", "discharge", "observe"]);
    },
  );

  it("never fails a flow for good because of a deadlock, but observes it after the last discharge that is allowed", () => {
    const hospital = new Driven({ backoff: { minMs: 0, maxMs: 0 }, maxDischarges: 50 });
    for (let i = 0; i < 50; i++) expect(hospital.fail("deadlock")).toBe("discharge");
    expect(hospital.fail("deadlock")).toBe("observe");
    expect(hospital.state.patients.get("f")?.record.by).toEqual(["maxDischarges"]);
  });

  it("observes a flow whose code threw where the definition asks for that, but not a final error", () => {
    expect(new Driven().fail("code", { onError: "hospital" })).toBe("observe");
    expect(new Driven().fail("final", { onError: "hospital" })).toBe("fail");
  });
});

describe("counts", () => {
  const chronic = { backoff: { minMs: 0, maxMs: 0 } };

  it("are kept for each member of the staff apart", () => {
    const hospital = new Driven(chronic);
    for (let i = 0; i < 3; i++) {
      expect(hospital.fail("constraint")).toBe("discharge");
      expect(hospital.fail("server")).toBe("discharge");
    }
    expect(hospital.fail("engine")).toBe("discharge");
    expect(hospital.fail("constraint")).toBe("observe");
  });

  it("start anew when the journal has grown [N3]", () => {
    const hospital = new Driven(chronic);
    for (let i = 0; i < 3; i++) hospital.fail("server", { position: 4 });
    expect(hospital.fail("server", { position: 5 })).toBe("discharge");
    for (let i = 0; i < 2; i++) hospital.fail("server", { position: 5 });
    expect(hospital.fail("server", { position: 5 })).toBe("observe");
  });

  it("start anew when the journal was cut", () => {
    const hospital = new Driven(chronic);
    for (let i = 0; i < 3; i++) hospital.fail("server", { position: 5 });
    expect(hospital.fail("server", { position: 2 })).toBe("discharge");
  });

  it("do not start anew at another step while the journal stays as it is", () => {
    const hospital = new Driven(chronic);
    const visits = ["pay", "ship", "pay", "ship"].map((name) => hospital.fail("server", { name }));
    expect(visits.at(-1)).toBe("observe");
  });

  it("start anew when the flow is discharged by hand", () => {
    const hospital = new Driven(chronic);
    for (let i = 0; i < 4; i++) hospital.fail("server");
    expect(hospital.discharge({})).toBe("discharge f");
    expect(hospital.fail("server")).toBe("discharge");
  });
});

describe("waits", () => {
  it("are none at first, then 10 s and a random part that grows up to 110 s [N4]", () => {
    const { backoff } = HOSPITAL_DEFAULTS;
    const waits = (random: number): number[] =>
      [0, 1, 2, 5, 8, 100].map((n) => visitWaitMs(backoff, n, random));
    expect(waits(0)).toEqual([0, 10_000, 10_000, 10_000, 10_000, 10_000]);
    expect(waits(1)).toEqual([0, 17_500, 21_250, 47_968.75, 120_000, 120_000]);
    const hospital = new Driven();
    expect(hospital.fail("timeout")).toBe("discharge");
    expect(hospital.fail("timeout", { random: 0 })).toBe("wait 10000");
    expect(hospital.fail("timeout", { random: 0.123456 })).toBe("wait 11389");
  });

  it("end with the timer, not before, and an early timer waits again", () => {
    const hospital = new Driven();
    hospital.fail("timeout");
    hospital.fail("timeout", { random: 0 });
    hospital.now += 9_999;
    expect(hospital.due()).toBe("wait f");
    hospital.now += 1;
    expect(hospital.due()).toBe("discharge f");
    expect(hospital.due()).toBe("");
  });

  it("end at once when the flow is discharged", () => {
    const hospital = new Driven();
    hospital.fail("timeout");
    hospital.fail("timeout");
    expect(hospital.discharge({ flow: "f" })).toBe("discharge f");
    expect(hospital.ward()).toBe("out");
  });
});

describe("staff of the user's own", () => {
  const always = (name: string, diagnosis: never): object => ({ name, diagnose: () => diagnosis });
  const staff = (...diagnoses: unknown[]): Driven =>
    new Driven({ staff: diagnoses.map((one, i) => always(`s${i}`, one as never)) as never });

  it.each([
    [["terminal", "resuscitate"], "discharge"],
    [["discharge", "terminal"], "fail"],
    [["observe", "discharge"], "discharge"],
    [["not-my-specialty", "observe"], "observe"],
    [["not-my-specialty"], "fail"],
  ])("counts by the priority of its diagnosis: %j gives %s [N5]", (diagnoses, decided) => {
    expect(staff(...diagnoses).fail("code")).toBe(decided);
  });

  it("may choose the wait, and a resuscitation has none", () => {
    const hospital = staff({ type: "discharge", afterMs: 60_000 });
    expect(hospital.fail("code")).toBe("wait 60000");
    const other = staff("resuscitate");
    expect([other.fail("code"), other.fail("code")]).toEqual(["discharge", "discharge"]);
  });

  it("knows how often it has discharged the flow", () => {
    const seen: number[] = [];
    const hospital = new Driven({
      backoff: { minMs: 0, maxMs: 0 },
      staff: [
        {
          name: "mine",
          diagnose: (_, chart) => {
            seen.push(chart.discharged);
            return chart.discharged < 2 ? "discharge" : "terminal";
          },
        },
      ],
    });
    expect([1, 2, 3].map(() => hospital.fail("code"))).toEqual(["discharge", "discharge", "fail"]);
    expect(seen).toEqual([0, 1, 2]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("ill");
      },
    ],
    ["answers nonsense", () => "heal"],
    ["asks for a wait that is no number", () => ({ type: "discharge", afterMs: Number.NaN })],
    ["is asynchronous", async () => "observe"],
  ])("is not counted when it %s, and people learn of it", (_, diagnose) => {
    const hospital = new Driven({ staff: [{ name: "bad", diagnose: diagnose as never }] });
    expect(hospital.fail("store")).toBe("observe");
    expect(hospital.notices).toContainEqual({
      type: "staff-failed",
      flow: "f",
      staff: "bad",
      message: expect.any(String),
    });
  });

  it("may throw any value", () => {
    const hostile = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error("no");
        },
      },
    );
    for (const thrown of [hostile, null, undefined, new Error("x")]) {
      const diagnose = (): never => {
        throw thrown;
      };
      expect(new Driven({ staff: [{ name: "bad", diagnose }] }).fail("store")).toBe("observe");
    }
  });
});

describe("a run that failed", () => {
  it("counts once, however often it is reported [N6]", () => {
    const hospital = new Driven();
    const admission = {
      type: "admitted",
      flow: "f",
      definition: "checkout",
      run: 7,
      suspension: { name: "pay", position: 1 },
      onError: "fail",
      now: 0,
      random: 0,
    } as const;
    expect(told(hospital.send({ ...admission, symptom: symptom("code") }))).toBe("fail f");
    expect(told(hospital.send({ ...admission, symptom: symptom("code") }))).toBe("");
    expect(told(hospital.send({ ...admission, run: 8, symptom: symptom("timeout") }))).toBe("");
    hospital.send({ type: "left", flow: "f" });
    expect(hospital.state.patients.size).toBe(0);
  });
});

describe("discharge by hand", () => {
  const ward = (): Driven => {
    const hospital = new Driven();
    hospital.fail(symptom("store", { code: "DISK" }), { flow: "a" });
    hospital.fail(symptom("store", { code: "FULL" }), { flow: "b" });
    hospital.fail("divergence", { flow: "c" });
    hospital.fail("code", { flow: "failing" });
    hospital.fail("timeout", { flow: "out" });
    return hospital;
  };

  it.each([
    [{ flow: "b" }, "discharge b"],
    [{ code: "DISK" }, "discharge a"],
    [{ kind: "store" }, "discharge a, discharge b"],
    [{ kind: "store", flow: "c" }, ""],
    [{ definition: "shipping" }, ""],
    [{}, "discharge a, discharge b, discharge c"],
    [{ flow: "failing" }, ""],
    [{ flow: "nobody" }, ""],
  ] as const)("of %j: %s [N7]", (filter, effects) => {
    expect(ward().discharge(filter)).toBe(effects);
  });
});

describe("an observation by hand", () => {
  it("keeps a flow, and the end of its run no longer counts", () => {
    const hospital = new Driven();
    const order = {
      type: "observed",
      flow: "f",
      definition: "checkout",
      run: 1,
      reason: "to look at",
      suspension: { name: "pay", position: 3 },
      now: 5,
    } as const;
    expect(told(hospital.send(order))).toBe("observe f");
    expect(told(hospital.send(order))).toBe("");
    expect(hospital.fail("code")).toBe("");
    expect(hospital.discharge({})).toBe("discharge f");
  });
});

describe("the memory of the hospital", () => {
  it("has a bound: flows that run are forgotten first, then those in the store anyway, and never those that wait", () => {
    const hospital = new Driven({ maxFlows: 3 });
    hospital.fail("store", { flow: "observed" });
    hospital.fail("timeout", { flow: "out" });
    hospital.fail("timeout", { flow: "waiting" });
    hospital.fail("timeout", { flow: "waiting" });
    expect(hospital.fail("timeout", { flow: "x" })).toBe("discharge");
    expect([...hospital.state.patients.keys()]).toEqual(["observed", "waiting", "x"]);
    hospital.fail("timeout", { flow: "x" });
    expect(hospital.fail("timeout", { flow: "y" })).toBe("discharge");
    hospital.fail("timeout", { flow: "y" });
    expect([...hospital.state.patients.keys()]).toEqual(["waiting", "x", "y"]);
    expect(hospital.fail("timeout", { flow: "z" })).toBe("observe");
    expect(hospital.state.patients.has("z")).toBe(false);
    expect(hospital.fail("code", { flow: "z" })).toBe("fail");
  });

  it("are the last visits of a flow, without stacks", () => {
    const hospital = new Driven({ maxVisits: 2, backoff: { minMs: 0, maxMs: 0 } });
    for (let i = 0; i < 5; i++) {
      hospital.now = i;
      hospital.fail(symptom("timeout", { stack: "long", message: "m".repeat(1_000) }));
    }
    const visits = hospital.state.patients.get("f")?.record.visits ?? [];
    expect(visits.map(({ at }) => at)).toEqual([3, 4]);
    expect(visits[0]?.symptom).toEqual(symptom("timeout", { message: "m".repeat(200) }));
  });
});

describe("a symptom", () => {
  const store = (more: object): Error => Object.assign(new Error("refused"), { code: "ERR_STORE" }, more);

  it.each([
    [new Error("plain"), "code"],
    ["a text", "code"],
    [undefined, "code"],
    [Object.assign(new Error("look"), { code: "ERR_FLOW_HOSPITALIZED" }), "requested"],
    [Object.assign(new Error("other"), { code: "ERR_FLOW_DIVERGED" }), "divergence"],
    [Object.assign(new Error("no"), { retriable: false }), "final"],
    [store({}), "store"],
    [store({ cause: { code: "40P01" } }), "deadlock"],
    [store({ cause: { code: "40001" } }), "deadlock"],
    [store({ cause: { code: "SQLITE_BUSY_SNAPSHOT" } }), "deadlock"],
    [store({ cause: { code: "23505" } }), "constraint"],
    [store({ cause: { code: "SQLITE_CONSTRAINT_UNIQUE" } }), "constraint"],
    [store({ cause: { code: "57014" } }), "timeout"],
    [store({ cause: { cause: { code: "08006" } } }), "connection"],
    [store({ cause: { code: "ECONNRESET" } }), "connection"],
    [Object.assign(new Error("of another service"), { code: "ECONNRESET" }), "code"],
  ])("of %s is of kind %s", (error, kind) => {
    expect(symptomOf(error).kind).toBe(kind);
  });

  it("is made of anything that can be thrown, and is never long", () => {
    const hostile = new Error("x".repeat(100_000));
    Object.defineProperty(hostile, "code", {
      get: () => {
        throw new Error("no");
      },
    });
    const self = store({});
    Object.assign(self, { cause: self });
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    for (const thrown of [hostile, self, revoked.proxy, Symbol("s"), 10n ** 1000n, null, () => 1])
      expect(JSON.stringify(symptomOf(thrown)).length).toBeLessThan(6_000);
  });
});
