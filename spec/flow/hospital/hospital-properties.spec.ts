// The hospital as a whole: every event in every state that can be reached in a few steps, and long random lives of flows beside a
// naive host that keeps everything that ever happened.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  type HospitalEffect,
  type HospitalEvent,
  type HospitalState,
  initial,
  type PatientStatus,
} from "../../../lib/flow/hospital/hospital-machine.js";
import { checkHospital } from "../../../lib/flow/hospital/options.js";
import { parseRecord } from "../../../lib/flow/hospital/record.js";
import type { SymptomKind } from "../../../lib/flow/hospital/symptom.js";
import { proving, sized } from "../../support/proof.js";
import { copyOf, symptom } from "./support.js";

const WARDS: readonly PatientStatus[] = ["waiting", "observed", "failing", "out"];

/** What holds in every state, whatever came before. */
function checkWards({ patients, byStatus, config }: HospitalState): void {
  expect(patients.size).toBeLessThanOrEqual(config.maxFlows);
  expect(WARDS.reduce((sum, ward) => sum + byStatus[ward].size, 0)).toBe(patients.size);
  for (const [flow, patient] of patients) {
    expect(WARDS.filter((ward) => byStatus[ward].has(flow))).toEqual([patient.status]);
    expect(patient.record.dueAt !== undefined).toBe(patient.status === "waiting");
    expect(patient.record.visits.length).toBeLessThanOrEqual(config.maxVisits);
    expect(parseRecord(JSON.stringify(patient.record))).toEqual(patient.record);
  }
}

/** A flow gets at most one answer, and none while it fails. */
function checkEffects(before: HospitalState, effects: readonly HospitalEffect[]): void {
  const flows = effects.filter(({ type }) => type !== "staff-failed").map(({ flow }) => flow);
  expect(new Set(flows).size).toBe(flows.length);
  for (const flow of flows) expect(before.byStatus.failing.has(flow)).toBe(false);
}

describe("every event in every state that can be reached", () => {
  const kinds: readonly SymptomKind[] = ["connection", "timeout", "divergence", "final", "code"];
  const settings = checkHospital("hospital", { maxFlows: 2, maxVisits: 1, maxDischarges: 2 });

  function eventsIn(state: HospitalState): HospitalEvent[] {
    return ["a", "b", "c"].flatMap((flow): HospitalEvent[] => {
      const known = state.patients.get(flow);
      const run = (known?.run ?? 0) + 1;
      const where = { flow, definition: "d", code: "1", suspension: { name: "s", position: 1 }, now: 0 };
      const record = known?.record;
      return [
        ...kinds.map(
          (kind): HospitalEvent => ({
            ...where,
            type: "admitted",
            run,
            symptom: symptom(kind),
            onError: kind === "code" ? "hospital" : "fail",
            random: 0,
          }),
        ),
        { ...where, type: "admitted", run: run - 1, symptom: symptom("timeout"), onError: "fail", random: 0 },
        { ...where, type: "observed", run, reason: "look" },
        { type: "discharged", filter: { flow } },
        { type: "left", flow },
        { type: "due", flow, now: 0 },
        { type: "due", flow, now: 200_000 },
        ...(record === undefined
          ? []
          : [0, 200_000].flatMap((now): HospitalEvent[] => [
              { type: "restored", flow, isIn: true, record, code: "2", now },
              { type: "restored", flow, isIn: false, record, now },
            ])),
      ];
    });
  }

  it("keeps each flow in one ward, the table within its bound, and throws nothing [N9]", () => {
    const common: HospitalEvent[] = [
      { type: "discharged", filter: {} },
      { type: "discharged", filter: { kind: "timeout" } },
    ];
    const seen = new Set<string>();
    const keyOf = (state: HospitalState): string =>
      JSON.stringify([...state.patients.values()].map(({ run: _, ...one }) => one));
    let states = [initial(settings.config)];
    const depth = proving ? 6 : 3;
    const wardsSeen = new Set<PatientStatus>();
    for (let i = 0; i < depth; i++) {
      const next: HospitalState[] = [];
      for (const state of states)
        for (const event of [...common, ...eventsIn(state)]) {
          const [after, effects] = decide(copyOf(state), event);
          const key = keyOf(after);
          if (seen.has(key)) continue;
          checkEffects(state, effects);
          checkWards(after);
          for (const { status } of after.patients.values()) wardsSeen.add(status);
          seen.add(key);
          next.push(after);
        }
      states = next;
    }
    expect(seen.size).toBeGreaterThan(500);
    expect([...wardsSeen].sort()).toEqual([...WARDS].sort());
  });
});

/** What a naive host knows of a flow. */
interface Life {
  is: "running" | "waiting" | "observed" | "failed";
  run: number;
  position: number;
  /** Who discharged it, in order, with the journal's length then; `null` where a person acted. */
  readonly discharges: ({ readonly by: string; readonly position: number } | null)[];
  failures: number;
  dueAt: number;
}

/** Of the default staff: how often one discharges, by the kinds that it treats. */
const RULES: Partial<Record<SymptomKind, number>> = {
  ...{ deadlock: Number.POSITIVE_INFINITY, timeout: Number.POSITIVE_INFINITY },
  ...{ constraint: 3, connection: 3, engine: 3 },
};
const FATAL: readonly SymptomKind[] = ["code", "final"];

class NaiveHost {
  readonly lives = new Map<string, Life>();
  state = initial(checkHospital("hospital", { backoff: { firstMs: 0, minMs: 10, maxMs: 20 } }).config);
  now = 0;

  constructor(flows: number) {
    for (let i = 0; i < flows; i++)
      this.lives.set(`f${i}`, { is: "running", run: 1, position: 0, discharges: [], failures: 0, dueAt: 0 });
  }

  send(event: HospitalEvent): void {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    for (const effect of effects) this.carryOut(effect);
    checkWards(state);
  }

  carryOut(effect: HospitalEffect): void {
    const life = this.lives.get(effect.flow) as Life;
    switch (effect.type) {
      case "discharge":
        expect(life.is).not.toBe("failed");
        if (effect.by === "hand") life.discharges.push(null);
        life.is = "running";
        life.run++;
        return;
      case "wait":
        life.is = "waiting";
        life.dueAt = effect.dueAt;
        return;
      case "staff-failed":
        return;
      case "observe":
        expect(life.is).toBe("running");
        life.is = "observed";
        return;
      case "fail":
        expect(life.is).toBe("running");
        life.is = "failed";
        life.failures++;
        return;
      default:
        effect satisfies never;
    }
  }

  /** What the rules say, from all that ever happened. */
  expected(life: Life, kind: SymptomKind): string {
    if (FATAL.includes(kind)) return "failed";
    const since = life.discharges.slice(life.discharges.lastIndexOf(null) + 1);
    const counted = since.filter((one) => one?.by === kind && one.position === life.position);
    if (counted.length >= (RULES[kind] ?? 0)) return "observed";
    return since.some((one) => one?.position === life.position) ? "waiting" : "running";
  }

  fail(flow: string, kind: SymptomKind, random: number): void {
    const life = this.lives.get(flow) as Life;
    const event: HospitalEvent = {
      type: "admitted",
      flow,
      definition: "d",
      run: life.run,
      symptom: symptom(kind),
      suspension: { name: "s", position: life.position },
      onError: "fail",
      now: this.now,
      random,
    };
    // A run that failed before, or is over, does not count.
    if (life.is !== "running") {
      this.send(event);
      return;
    }
    const expected = this.expected(life, kind);
    this.send(event);
    expect(life.is).toBe(expected);
    if (expected === "running" || expected === "waiting")
      life.discharges.push({ by: kind, position: life.position });
    const settled = { ...life };
    this.send(event);
    expect(life).toEqual(settled);
  }
}

describe("long lives of flows", () => {
  const flow = fc.constantFrom("f0", "f1", "f2");
  const kind = fc.constantFrom<SymptomKind>(
    ...(["deadlock", "constraint", "constraint", "connection", "connection", "timeout"] as const),
    ...(["engine", "store", "divergence", "code", "final"] as const),
  );
  const command = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("fail" as const),
        flow,
        kind,
        random: fc.double({ min: 0, max: 0.99, noNaN: true }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("grow" as const), flow }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("later" as const), ms: fc.nat({ max: 30 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("discharge" as const),
        flow: fc.option(flow, { nil: undefined }),
      }),
    },
  );

  it("end each admission in a discharge, a failure or an observation, as a model that keeps everything says; a flow fails once [N10]", () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const host = new NaiveHost(3);
        for (const one of commands) {
          if (one.do === "fail") host.fail(one.flow, one.kind, one.random);
          else if (one.do === "discharge")
            host.send({ type: "discharged", filter: one.flow === undefined ? {} : { flow: one.flow } });
          else if (one.do === "grow") {
            const life = host.lives.get(one.flow) as Life;
            if (life.is !== "running") continue;
            life.position++;
          } else {
            host.now += one.ms;
            for (const [id, life] of host.lives)
              if (life.is === "waiting") {
                host.send({ type: "due", flow: id, now: host.now });
                expect(life.is).toBe(host.now >= life.dueAt ? "running" : "waiting");
              }
          }
        }
        for (const life of host.lives.values()) expect(life.failures).toBe(life.is === "failed" ? 1 : 0);
      }),
      { numRuns: sized(100) },
    );
  });
});

describe("a host that starts again", () => {
  const config = (atStart: "keep" | "discharge") => checkHospital("hospital", { atStart }).config;
  const record = (kind: SymptomKind, more: object = {}) => ({
    ...{
      version: 1 as const,
      definition: "d",
      code: "1",
      symptom: symptom(kind),
      by: ["x"],
      counts: { x: 2 },
    },
    ...{ suspension: { name: "s", position: 3 }, discharges: 2, visits: [] },
    ...more,
  });
  const restored = (event: object, atStart: "keep" | "discharge" = "keep"): string => {
    const found = {
      type: "restored",
      flow: "f",
      isIn: true,
      code: "1",
      now: 100,
      record: record("store"),
      ...event,
    };
    const [, effects] = decide(initial(config(atStart)), found as HospitalEvent);
    return effects.map((one) => ("by" in one ? `${one.type} by ${one.by}` : one.type)).join(", ");
  };

  it("keeps observed flows as they were, unless its rule is to discharge them", () => {
    expect(restored({})).toBe("");
    expect(restored({}, "discharge")).toBe("discharge by start");
  });

  it("lets flows that diverged run again when the code is another [N8]", () => {
    expect(restored({ record: record("divergence") })).toBe("");
    expect(restored({ record: record("divergence"), code: "2" })).toBe("discharge by code");
    expect(restored({ record: record("definition"), code: "2" })).toBe("discharge by code");
    expect(restored({ record: record("definition"), code: undefined })).toBe("");
    expect(restored({ code: "2" })).toBe("");
  });

  it("goes on waiting for what waited, with the same counts", () => {
    expect(restored({ record: record("timeout", { dueAt: 150 }) })).toBe("wait");
    expect(restored({ record: record("timeout", { dueAt: 100 }) })).toBe("discharge by timer");
    const [state] = decide(initial(config("keep")), {
      ...{
        type: "restored",
        flow: "f",
        isIn: true,
        now: 0,
        record: record("server", { dueAt: 150, counts: { server: 3 } }),
      },
    });
    decide(state, { type: "due", flow: "f", now: 150 });
    const [, effects] = decide(state, {
      ...{
        type: "admitted",
        flow: "f",
        definition: "d",
        run: 1,
        symptom: symptom("server"),
        onError: "fail",
      },
      ...{ suspension: { name: "s", position: 3 }, now: 200, random: 0 },
    });
    expect(effects.at(-1)?.type).toBe("observe");
  });

  it("remembers the counts of a flow that was discharged before, and leaves it alone", () => {
    expect(
      restored({ isIn: false, record: record("divergence", { dueAt: 150 }), code: "2" }, "discharge"),
    ).toBe("");
    const stored = record("server", { counts: { server: 3 }, dueAt: 1 });
    const [state] = decide(initial(config("keep")), {
      ...{ type: "restored", flow: "f", isIn: false, now: 0, record: stored },
    });
    checkWards(state);
    const [, effects] = decide(state, {
      ...{
        type: "admitted",
        flow: "f",
        definition: "d",
        run: 1,
        symptom: symptom("server"),
        onError: "fail",
      },
      ...{ suspension: { name: "s", position: 3 }, now: 200, random: 0 },
    });
    expect(effects.at(-1)?.type).toBe("observe");
  });

  it("treats no flow twice, and no more than it may remember", () => {
    const { config: one } = checkHospital("hospital", { maxFlows: 1, atStart: "discharge" });
    const found = (flow: string, more: object = {}): HospitalEvent => ({
      ...{ type: "restored", flow, isIn: true, now: 0, record: record("store", more) },
    });
    const [state] = decide(initial(one), found("a", { dueAt: 10 }));
    expect(decide(state, found("a"))[1]).toEqual([]);
    expect(decide(state, found("b", { dueAt: 10 }))[1].map(({ type }) => type)).toEqual(["observe"]);
    expect(decide(state, found("c"))[1].map(({ type }) => type)).toEqual(["discharge"]);
    checkWards(state);
  });
});

describe("a stored record", () => {
  const good = {
    ...{
      version: 1,
      definition: "d",
      symptom: symptom("store"),
      by: ["store"],
      counts: { x: 1 },
      discharges: 1,
    },
    ...{ suspension: { name: "s", position: 1 }, visits: [] },
  };

  it.each([
    ["no JSON", "{"],
    ["another layout", { ...good, version: 2 }],
    ["no symptom", { ...good, symptom: undefined }],
    ["an unknown kind", { ...good, symptom: { kind: "flu", name: "", message: "" } }],
    ["no place", { ...good, suspension: { name: "s", position: -1 } }],
    ["nothing", null],
    ["a list", []],
  ])("that is %s is no record", (_, stored) => {
    expect(parseRecord(typeof stored === "string" ? stored : JSON.stringify(stored))).toBeUndefined();
  });

  it("loses what is damaged in its history, and no more", () => {
    const damaged = { ...good, by: 5, counts: { x: 1, y: "2" }, discharges: -1, visits: [null, { at: 1 }] };
    expect(parseRecord(damaged)).toEqual({ ...good, by: [], discharges: 0 });
    fc.assert(fc.property(fc.anything(), (value) => void parseRecord(value)));
    fc.assert(fc.property(fc.json(), (text) => void parseRecord(text)));
  });
});
