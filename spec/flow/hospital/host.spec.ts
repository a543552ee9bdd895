// The hospital's place in a host: flows that fail, checkpoints that cannot be read, code that is gone, processes that die.

import { describe, expect, it } from "vitest";
import {
  DivergenceError,
  defineFlow,
  FLOW_DEFAULTS,
  type FlowDefinition,
  type FlowHost,
  type FlowHostOptions,
  flowHost,
  HOSPITAL_DEFAULTS,
  type HospitalReport,
} from "../../../lib/flow/index.js";
import { decodeEntry } from "../../../lib/flow/journal/entry.js";
import { FLOW_SCHEMA, type FlowRow, flows as flowTable, journal } from "../../../lib/flow/journal/tables.js";
import { dryReplay } from "../../../lib/flow/runtime/dry-replay.js";
import { payloadsOf } from "../../../lib/flow/runtime/options.js";
import { System } from "../../../lib/index.js";
import {
  FencedError,
  type MemorySource,
  memory,
  openStore,
  type Store,
  StoreClosedError,
} from "../../../lib/store/index.js";
import { testClock } from "../../../lib/testing/index.js";
import { EvidenceBox } from "../../support/evidence-box.js";
import { OpenedSource } from "../../support/opened-store.js";

/** A system in virtual time over one store, whose hosts may die and start again. */
class World implements AsyncDisposable {
  readonly clock = testClock();
  readonly source: MemorySource = memory();
  readonly told: string[] = [];
  system: System;

  constructor() {
    this.system = this.#start();
  }

  #start(): System {
    const system = new System({ environment: this.clock.environment, report: false });
    system.events.on("hospital", (report: HospitalReport) => {
      const what =
        "flow" in report ? report.flow : report.flows.map((one) => `${one.count} ${one.name} ${one.version}`);
      this.told.push(`${report.type} ${what}`);
    });
    return system;
  }

  host(flows: FlowHostOptions["flows"], options: Partial<FlowHostOptions> = {}): Promise<FlowHost> {
    return this.clock.until(this.system.start(flowHost({ store: this.source, flows, ...options })));
  }

  /** The machine loses its power, and starts again. */
  async die(): Promise<void> {
    this.source.lose();
    await this.clock.until(this.system.stop());
    this.system = this.#start();
  }

  async status(flows: FlowHost, id: string): Promise<string> {
    await this.clock.settle();
    return (await this.clock.until(flows.get(id).info())).status;
  }

  async edit(act: (store: Store) => Promise<unknown>): Promise<void> {
    const store = await this.clock.until(openStore(this.system, this.source, [FLOW_SCHEMA]));
    await this.clock.until(act(store));
    await this.clock.until(store.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clock.until(this.system.stop());
  }
}

describe("a flow whose code throws", () => {
  const broken = { is: true };
  const pay = (onError?: "hospital") =>
    defineFlow("pay", onError === undefined ? {} : { onError }, async (flow, amount: number) => {
      const charged = await flow.step("charge", () => amount);
      if (broken.is) throw new Error("broken");
      return charged;
    });

  it("fails, and its error goes to those who wait for it", async () => {
    await using world = new World();
    broken.is = true;
    const definition = pay();
    const flows = await world.host([definition]);
    const run = await world.clock.until(flows.start(definition, 5, { id: "p" }));
    await expect(world.clock.until(run.result())).rejects.toThrow("broken");
    expect(await world.status(flows, "p")).toBe("failed");
    expect(await world.clock.until(flows.hospital.patients())).toEqual([]);
  });

  it("is one of the patients up to a limit, and the list says whether there are more [J320]", async () => {
    await using world = new World();
    broken.is = true;
    const flows = await world.host([pay("hospital")]);
    for (const id of ["p", "q"]) await world.clock.until(flows.start(pay("hospital"), 5, { id }));
    for (const id of ["p", "q"]) expect(await world.status(flows, id)).toBe("hospitalized");
    const listed = async (limit?: number): Promise<readonly [string[], boolean]> => {
      const patients = await world.clock.until(
        flows.hospital.patients({}, limit === undefined ? {} : { limit }),
      );
      return [patients.map(({ id }) => id), patients.more];
    };
    expect(await listed(1)).toEqual([["p"], true]);
    expect(await listed(2)).toEqual([["p", "q"], false]);
    expect(await listed()).toEqual([["p", "q"], false]);
  });

  it("keeps its place where its definition says so, across a restart, and goes on when it is discharged [N12]", async () => {
    await using world = new World();
    broken.is = true;
    let flows = await world.host([pay("hospital")]);
    await world.clock.until(flows.start(pay("hospital"), 5, { id: "p" }));
    expect(await world.status(flows, "p")).toBe("hospitalized");
    await world.die();
    flows = await world.host([pay("hospital")]);
    expect(await world.status(flows, "p")).toBe("hospitalized");
    const [patient] = await world.clock.until(flows.hospital.patients());
    expect(patient).toMatchObject({
      id: "p",
      name: "pay",
      record: {
        symptom: { kind: "code", name: "Error", message: "broken" },
        suspension: { name: "charge", position: 1 },
        by: ["onError"],
        visits: [{ decision: "observe" }],
      },
    });
    broken.is = false;
    expect(await world.clock.until(flows.hospital.discharge({ code: "other" }))).toEqual([]);
    expect(await world.clock.until(flows.hospital.discharge("p"))).toEqual(["p"]);
    expect(await world.clock.until(flows.get("p").result())).toBe(5);
    expect(world.told).toEqual(["observed p", "discharged p"]);
  });

  it("fails at once by an error of the store that its journal has: no run would meet another", async () => {
    await using world = new World();
    const cause = Object.assign(new Error("deadlock detected"), { code: "40P01" });
    const error = Object.assign(new Error("refused", { cause }), { code: "ERR_STORE" });
    const outside = defineFlow("outside", async (_flow, _: null) => {
      throw error;
    });
    const inside = defineFlow("inside", (flow, _: null) =>
      flow.step("write", () => {
        throw error;
      }),
    );
    const flows = await world.host([outside, inside]);
    await world.clock.until(flows.start(outside, null, { id: "o" }));
    await world.clock.until(flows.start(inside, null, { id: "i" }));
    expect(await world.status(flows, "i")).toBe("failed");
    expect(await world.status(flows, "o")).toBe("hospitalized");
  });

  it.each([
    ["fenced off", new FencedError("elsewhere", 7)],
    ["closed", new StoreClosedError("elsewhere")],
  ])(
    "comes to the hospital when it was a store of its own that was %s, and not the host's [J62]",
    async (_, error) => {
      await using world = new World();
      let isOver = true;
      const outside = defineFlow("outside", async () => {
        if (isOver) throw error;
        return "done";
      });
      const inside = defineFlow("inside", (flow) =>
        flow.step("write", () => {
          throw error;
        }),
      );
      const flows = await world.host([outside, inside]);
      const run = await world.clock.until(flows.start(outside, undefined, { id: "o" }));
      await world.clock.until(flows.start(inside, undefined, { id: "i" }));
      expect(await world.status(flows, "i")).toBe("failed");
      expect(await world.status(flows, "o")).toBe("hospitalized");
      isOver = false;
      await world.clock.until(flows.hospital.discharge("o"));
      expect(await world.clock.until(run.result())).toBe("done");
    },
  );

  it("can be killed in the hospital", async () => {
    await using world = new World();
    broken.is = true;
    const flows = await world.host([pay("hospital")]);
    const run = await world.clock.until(flows.start(pay("hospital"), 5, { id: "p" }));
    expect(await world.status(flows, "p")).toBe("hospitalized");
    await world.clock.until(run.kill());
    expect(await world.status(flows, "p")).toBe("killed");
  });

  it("is dead after a kill that came while it was on its way there, and cancelled after a discharge if that was wished [J570]", async () => {
    for (const wish of ["kill", "cancel"] as const) {
      const clock = testClock();
      await using system = new System({ environment: clock.environment, report: false });
      const store = new OpenedSource();
      let fails: ((error: Error) => void) | undefined;
      const waits = defineFlow("waits", { onError: "hospital" }, async (flow, _: null) => {
        const first = new Promise((_go, fail) => {
          fails ??= fail;
        });
        await Promise.race([first, flow.receive("go")]);
      });
      const flows = await clock.until(system.start(flowHost({ store, flows: [waits] })));
      const run = await clock.until(flows.start(waits, null, { id: "w" }));
      await clock.settle();
      const held: (() => void)[] = [];
      store.before = (commit) => new Promise<void>((go) => held.push(go)).then(commit);
      fails?.(new Error("broken"));
      await clock.settle();
      const wished = run[wish]();
      await clock.settle();
      // The wish is durable before the stay in the hospital is.
      expect(held).toHaveLength(2);
      store.before = undefined;
      held[1]?.();
      await clock.until(wished);
      held[0]?.();
      await clock.advance(1);
      expect((await clock.until(run.info())).status).toBe(wish === "kill" ? "killed" : "hospitalized");
      await clock.until(flows.hospital.discharge("w"));
      await clock.settle();
      expect((await clock.until(run.info())).status).toBe(wish === "kill" ? "killed" : "cancelled");
      await clock.until(system.stop());
    }
  });
});

describe("a flow that staff of the user's own discharges", () => {
  it("runs again at once, then after waits, across a restart, until the staff gives up", async () => {
    await using world = new World();
    const runs: number[] = [];
    const poll = defineFlow("poll", async (flow, _: null) => {
      runs.push(flow.now());
      throw new Error("closed");
    });
    const staff = [
      {
        name: "patience",
        diagnose: (_: unknown, { discharged }: { discharged: number }) =>
          discharged < 3
            ? ({ type: "discharge", afterMs: discharged * 60_000 } as const)
            : ("terminal" as const),
      },
    ];
    const hospital = { hospital: { staff } };
    let flows = await world.host([poll], hospital);
    await world.clock.until(flows.start(poll, null, { id: "p" }));
    expect(await world.status(flows, "p")).toBe("hospitalized");
    expect(runs).toHaveLength(2);
    await world.clock.advance(60_000);
    expect(runs).toHaveLength(3);
    await world.die();
    flows = await world.host([poll], hospital);
    await world.clock.advance(119_000);
    expect(runs).toHaveLength(3);
    await world.clock.advance(2_000);
    expect(runs).toHaveLength(4);
    expect(await world.status(flows, "p")).toBe("failed");
    expect(world.told).toEqual(["discharged p", "waits p", "discharged p", "waits p", "discharged p"]);
  });
});

describe("code that takes another way than the one recorded", () => {
  it("is kept at once, and runs again when the host has other code", async () => {
    await using world = new World();
    let runs = 0;
    const first = defineFlow("order", async (flow, _: null) => {
      await flow.step("a", () => 1);
      return flow.receive<string>("go");
    });
    const second = defineFlow("order", async (flow, _: null) => {
      runs++;
      await flow.step("b", () => 1);
      return flow.receive<string>("go");
    });
    let flows = await world.host([first]);
    await world.clock.until(flows.start(first, null, { id: "o" }));
    await world.clock.settle();
    await world.die();
    flows = await world.host([second]);
    expect(await world.status(flows, "o")).toBe("hospitalized");
    await world.clock.advance(10 * 60_000);
    expect(runs).toBe(1);
    const [patient] = await world.clock.until(flows.hospital.patients({ kind: "divergence" }));
    expect(patient?.record?.symptom.code).toBe("ERR_FLOW_DIVERGED");
    await world.die();
    flows = await world.host([second]);
    await world.clock.advance(10 * 60_000);
    expect(runs).toBe(1);
    await world.die();
    flows = await world.host([first]);
    await world.clock.until(flows.get("o").send("go", "done"));
    expect(await world.clock.until(flows.get("o").result())).toBe("done");
  });
});

describe("a flow whose code changed", () => {
  const first = defineFlow("order", async (flow, _: null) => {
    await flow.step("a", () => 1);
    await flow.step("b", () => 2);
    return flow.receive<string>("go");
  });
  const changes: [string, RegExp, FlowDefinition<null, string>["body"]][] = [
    [
      "asks for something else",
      /recorded was step "b", the code asks for step "c" at .*host\.spec\.ts:\d+:\d+\./,
      async (flow) => {
        await flow.step("a", () => 1);
        await flow.step("c", () => 2);
        return "";
      },
    ],
    [
      "throws",
      /recorded was step "b", the code throws TypeError: no price at .*host\.spec\.ts:\d+:\d+\./,
      async (flow) => {
        await flow.step("a", () => 1);
        throw new TypeError("no price");
      },
    ],
    [
      "returns early",
      /recorded was step "b", the code returns; its last ask was step "a" at .*host\.spec\.ts:\d+:\d+\./,
      async (flow) => {
        await flow.step("a", () => 1);
        return "early";
      },
    ],
    [
      "waits for ever",
      /recorded was step "b", the code has asked nothing for 10000 ms and waits for something that is no ask of the flow; its last ask was step "a" at .*host\.spec\.ts:\d+:\d+\./,
      async (flow) => {
        await flow.step("a", () => 1);
        return new Promise<string>(() => undefined);
      },
    ],
  ];

  it.each(changes)(
    "that %s says so with its place, and its waiters get an error [N301]",
    async (_, message, body) => {
      await using world = new World();
      let flows = await world.host([first]);
      await world.clock.until(flows.start(first, null, { id: "o" }));
      await world.clock.settle();
      await world.die();
      flows = await world.host([defineFlow("order", body)]);
      const waiting = flows.get("o").result();
      const refused = { code: "ERR_FLOW_IN_HOSPITAL", message: expect.stringMatching(message) };
      await expect(world.clock.until(waiting)).rejects.toMatchObject(refused);
      // Whoever comes later is told too.
      await expect(world.clock.until(flows.get("o").result())).rejects.toMatchObject(refused);
      const [patient] = await world.clock.until(flows.hospital.patients({ kind: "divergence" }));
      expect(patient?.record?.symptom.message).toMatch(/guard the change with flow\.version$/);
      await world.die();
      flows = await world.host([first]);
      await world.clock.until(flows.get("o").send("go", "done"));
      expect(await world.clock.until(flows.get("o").result())).toBe("done");
    },
  );

  it("that is mended is waited for from the first moment of its host on [J940]", async () => {
    await using world = new World();
    let flows = await world.host([first]);
    await world.clock.until(flows.start(first, null, { id: "o" }));
    await world.clock.settle();
    await world.die();
    flows = await world.host([
      defineFlow("order", async (flow, _: null) => flow.step("other", () => "done")),
    ]);
    await expect(world.clock.until(flows.get("o").result())).rejects.toMatchObject({
      code: "ERR_FLOW_IN_HOSPITAL",
    });
    await world.die();
    const started = world.system.start(flowHost({ store: world.source, flows: [first] }));
    const result = started.then(async (host) => {
      const waiting = host.get("o").result();
      await host.get("o").send("go", "done");
      return waiting;
    });
    expect(await world.clock.until(result)).toBe("done");
  });

  it("that is kept is an error for those who asked before the host had decided about it [J940]", async () => {
    await using world = new World();
    let flows = await world.host([first]);
    await world.clock.until(flows.start(first, null, { id: "o" }));
    await world.clock.settle();
    await world.die();
    const other = defineFlow("order", async (flow, _: null) => flow.step("other", () => "done"));
    flows = await world.host([other]);
    const refused = { code: "ERR_FLOW_IN_HOSPITAL" };
    await expect(world.clock.until(flows.get("o").result())).rejects.toMatchObject(refused);
    await world.die();
    const started = world.system.start(flowHost({ store: world.source, flows: [other] }));
    const result = started.then((host) => host.get("o").result());
    await expect(world.clock.until(result)).rejects.toMatchObject(refused);
  });

  it("that throws on replay has its error as the cause [N300]", async () => {
    await using world = new World();
    const flows = await world.host([first]);
    await world.clock.until(flows.start(first, null, { id: "o" }));
    await world.clock.settle();
    const thrown = new TypeError("no price");
    const second = defineFlow("order", async (flow, _: null) => {
      await flow.step("a", () => 1);
      throw thrown;
    });
    const store = await world.clock.until(openStore(world.system, world.source, [FLOW_SCHEMA]));
    const [row] = await world.clock.until(store.scan(flowTable, { index: "id", prefix: ["o"], limit: 1 }));
    const rows = await world.clock.until(
      store.scan(journal, { index: "flow", prefix: [row?.number as number] }),
    );
    const error = await world.clock.until(
      dryReplay({
        kernel: world.system.kernel,
        definition: second,
        row: row as FlowRow,
        history: rows.map(({ head, value }) => decodeEntry(head, value)),
        payloads: payloadsOf({}),
        limits: FLOW_DEFAULTS,
      }),
    );
    expect(error).toBeInstanceOf(DivergenceError);
    expect(error).toMatchObject({
      did: "throws",
      cause: thrown,
      at: expect.stringContaining("host.spec.ts"),
    });
    await world.clock.until(store.close());
  });
});

describe("a checkpoint that cannot be read", () => {
  const two = defineFlow("two", async (flow, name: string) => {
    const greeting = await flow.step("greet", () => `hello ${name}`);
    await flow.sleep("1 hour");
    return greeting;
  });

  const damages: [string, (store: Store, position: number) => Promise<unknown>][] = [
    [
      "has a damaged entry",
      (store, position) =>
        store.commit({ writes: [{ type: "update", table: journal, key: [position], set: { head: "[" } }] }),
    ],
    [
      "has a damaged value",
      (store, position) =>
        store.commit({ writes: [{ type: "update", table: journal, key: [position], set: { value: "J{" } }] }),
    ],
    [
      "misses an entry",
      (store, position) => store.commit({ writes: [{ type: "delete", table: journal, key: [position] }] }),
    ],
  ];

  it.each(damages)(
    "%s: the flow is quarantined, the host starts, and others run [N13]",
    async (_, damage) => {
      await using world = new World();
      let flows = await world.host([two]);
      for (const id of ["a", "b", "c"]) await world.clock.until(flows.start(two, id, { id }));
      await world.clock.settle();
      await world.die();
      await world.edit(async (store) => {
        const [row] = await store.scan(flowTable, { index: "id", prefix: ["b"] });
        const [entry] = await store.scan(journal, { index: "flow", prefix: [row?.number as number] });
        await damage(store, entry?.position as number);
      });
      flows = await world.host([two]);
      await world.clock.advance(2 * 3_600_000);
      expect(await world.clock.until(flows.get("a").result())).toBe("hello a");
      expect(await world.clock.until(flows.get("c").result())).toBe("hello c");
      expect(await world.status(flows, "b")).toBe("hospitalized");
      const [patient] = await world.clock.until(flows.hospital.patients());
      expect(patient).toMatchObject({
        id: "b",
        record: { symptom: { kind: "payload" }, by: ["quarantine"] },
      });
    },
  );

  it("is taken again after its repair", async () => {
    await using world = new World();
    let flows = await world.host([two]);
    await world.clock.until(flows.start(two, "Ada", { id: "a" }));
    await world.clock.settle();
    await world.die();
    const heads: string[] = [];
    const write = (head: string) => (store: Store) =>
      store.scan(journal, { limit: 1 }).then(([entry]) => {
        heads.push(entry?.head as string);
        const key = [entry?.position as number];
        return store.commit({ writes: [{ type: "update", table: journal, key, set: { head } }] });
      });
    await world.edit(write("damaged"));
    flows = await world.host([two]);
    expect(await world.status(flows, "a")).toBe("hospitalized");
    await world.edit(write(heads[0] as string));
    await world.clock.until(flows.hospital.discharge("a"));
    expect(await world.clock.until(flows.get("a").result())).toBe("hello Ada");
  });
});

describe("a flow that ends its program", () => {
  let killed = 0;
  const killer = defineFlow("killer", async (flow, _: null) =>
    flow.step("kill", () => {
      killed++;
      return new Promise<void>(() => undefined);
    }),
  );
  // Its journal stays as it is while the killer lives: it looks as guilty as the killer.
  const slow = defineFlow("slow", (flow, n: number) =>
    flow.idempotent("count", async (inner) => {
      await inner.sleep(50);
      return n;
    }),
  );

  /** Lives in which the killer runs beside five flows with a long step, until it does not run any more. */
  async function lives(world: World, box: EvidenceBox, accused: string | undefined): Promise<FlowHost> {
    killed = 0;
    const host = () => world.host([killer, slow], { evidence: box });
    let flows = await host();
    for (let i = 0; i < 5; i++) await world.clock.until(flows.start(slow, i, { id: `s${i}` }));
    await world.clock.until(flows.start(killer, null, { id: "k" }));
    for (let deaths = 1; killed === deaths && deaths < 8; deaths++) {
      box.end(accused);
      await world.die();
      flows = await host();
      await world.clock.settle();
    }
    return flows;
  }

  it("is kept after three deaths with evidence, before its code runs, and those beside it end [N14]", async () => {
    await using world = new World();
    const flows = await lives(world, new EvidenceBox(), "flow:k");
    expect(killed).toBe(HOSPITAL_DEFAULTS.maxCrashes);
    expect(await world.status(flows, "k")).toBe("hospitalized");
    await world.clock.advance(1_000);
    for (let i = 0; i < 5; i++) expect(await world.clock.until(flows.get(`s${i}`).result())).toBe(i);
    const patients = await world.clock.until(flows.hospital.patients());
    // With the evidence in its record.
    expect(patients.map(({ id, record }) => [id, record?.symptom])).toEqual([
      [
        "k",
        expect.objectContaining({
          kind: "crash-loop",
          evidence: { kind: "exit", at: 0, life: HOSPITAL_DEFAULTS.maxCrashes },
        }),
      ],
    ]);
  });

  it("loses no mark when the program is killed before its stay is stored [J623]", async () => {
    await using world = new World();
    const box = new EvidenceBox();
    const die = (by?: string): Promise<void> => {
      box.end(by);
      return world.die();
    };
    killed = 0;
    const flows = await world.host([killer], { evidence: box });
    await world.clock.until(flows.start(killer, null, { id: "k" }));
    for (let deaths = 1; deaths < HOSPITAL_DEFAULTS.maxCrashes; deaths++) {
      await die("flow:k");
      await world.host([killer], { evidence: box });
      await world.clock.settle();
    }
    await die("flow:k");
    let isOnItsWay = false;
    const store = new OpenedSource(world.source);
    store.before = (commit, { writes = [] }) => {
      const isStay = writes.some((write) => write.type === "update" && write.set?.status === "hospitalized");
      isOnItsWay ||= isStay;
      return isStay ? new Promise(() => undefined) : commit();
    };
    await world.host([killer], { evidence: box, store });
    await world.clock.settle();
    expect(isOnItsWay).toBe(true);
    await die();
    const next = await world.host([killer], { evidence: box });
    expect(await world.status(next, "k")).toBe("hospitalized");
    expect(killed).toBe(HOSPITAL_DEFAULTS.maxCrashes);
  });

  it("runs again after a minute, and each time that it comes back after twice as long [N200]", async () => {
    await using world = new World();
    const box = new EvidenceBox();
    let flows = await lives(world, box, "flow:k");
    for (const waitMs of [60_000, 120_000, 240_000]) {
      const before = killed;
      await world.clock.advance(waitMs - 1_000);
      expect(killed).toBe(before);
      await world.clock.advance(1_000);
      expect(killed).toBe(before + 1);
      box.end("flow:k");
      await world.die();
      flows = await world.host([killer, slow], { evidence: box });
      expect(await world.status(flows, "k")).toBe("hospitalized");
    }
  });

  it("is no flow when the program is killed from outside, however often [N11]", async () => {
    await using world = new World();
    const flows = await lives(world, new EvidenceBox(), undefined);
    expect(await world.clock.until(flows.hospital.patients())).toEqual([]);
    expect(await world.status(flows, "k")).toBe("running");
  });
});

describe("flows whose definitions the host does not have", () => {
  it("are reported at the start and listed, by name and version, and left alone [N15]", async () => {
    await using world = new World();
    const make = (name: string, version: number) =>
      defineFlow(name, { version }, async (flow, _: null) => flow.receive<string>("go"));
    let flows = await world.host([make("old", 1), make("old", 2), make("kept", 1)]);
    await world.clock.until(flows.start(make("old", 1), null, { id: "a" }));
    await world.clock.until(flows.start(make("old", 2), null, { id: "b" }));
    await world.clock.until(flows.start(make("old", 2), null, { id: "c" }));
    await world.clock.until(flows.start(make("kept", 1), null, { id: "d" }));
    await world.die();
    flows = await world.host([make("old", 1), make("kept", 1)]);
    await world.clock.settle();
    expect(world.told).toEqual(["unknown 2 old 2"]);
    expect(await world.clock.until(flows.hospital.unknown())).toEqual([
      { name: "old", version: 2, count: 2 },
    ]);
    expect(await world.clock.until(flows.hospital.patients())).toEqual([]);
    await world.die();
    flows = await world.host([make("old", 2)]);
    await world.clock.until(flows.get("b").send("go", "on"));
    expect(await world.clock.until(flows.get("b").result())).toBe("on");
  });
});

describe("an observation by hand", () => {
  it("stops a flow that runs or waits, and a discharge lets it go on", async () => {
    await using world = new World();
    let runs = 0;
    const wait = defineFlow("wait", async (flow, _: null) => {
      runs++;
      return flow.receive<string>("go");
    });
    const flows = await world.host([wait]);
    const run = await world.clock.until(flows.start(wait, null, { id: "w" }));
    await world.clock.until(flows.hospital.observe("w", "to look at it"));
    expect(await world.status(flows, "w")).toBe("hospitalized");
    await world.clock.until(run.send("go", "mail"));
    expect(await world.status(flows, "w")).toBe("hospitalized");
    expect(runs).toBe(1);
    const [patient] = await world.clock.until(flows.hospital.patients());
    expect(patient?.record).toMatchObject({
      symptom: { kind: "requested", message: "to look at it" },
      by: ["hand"],
    });
    await world.clock.until(flows.hospital.discharge({}));
    expect(await world.clock.until(run.result())).toBe("mail");
  });
});

describe("bad input", () => {
  it("is refused", async () => {
    await using world = new World();
    const flows = await world.host([]);
    const { hospital } = flows;
    const refused = (call: Promise<unknown>) =>
      world.clock.until(call.then(String, (error: Error) => error.message));
    expect(await refused(hospital.observe("nobody", "x"))).toContain('no flow "nobody"');
    expect(await refused(hospital.discharge("nobody"))).toBe("");
    expect(await refused(hospital.discharge({ kinds: "x" } as never))).toContain("did you mean kind?");
    expect(await refused(hospital.patients({ kind: "flu" as never }))).toContain(
      "filter.kind must be one of",
    );
    expect(await refused(hospital.patients({}, { limit: 0 }))).toContain("limit must be");
    expect(await refused(hospital.discharge(""))).toContain("which must be");
    expect(() => flowHost({ store: memory(), flows: [], hospital: { stuff: [] } as never })).toThrow(
      "hospital.stuff",
    );
  });
});
