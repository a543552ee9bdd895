// An error of the engine in a timer of a flow's own process: the flow's code has not thrown.

import { expect, test } from "vitest";
import { defineFlow } from "../../../lib/flow/index.js";
import { memory, type Store, type StoreSource } from "../../../lib/store/index.js";
import { bench } from "./bench.js";

/** A store in which the engine fails when it notes that a flow waits, so many times. */
class Failing implements StoreSource {
  readonly label = "failing";
  readonly #inner = memory();
  left: number;

  constructor(times: number) {
    this.left = times;
  }

  async open(...args: Parameters<StoreSource["open"]>): Promise<Store> {
    const store = await this.#inner.open(...args);
    const submit: Store["submit"] = (set, settled) => {
      if (this.left > 0 && JSON.stringify(set.writes).includes('"status":"waiting"')) {
        this.left--;
        throw new TypeError("a defect of the engine");
      }
      store.submit(set, settled);
    };
    return new Proxy(store, {
      get(target, name) {
        const value: unknown = name === "submit" ? submit : Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}

const waits = defineFlow("waits", (flow, _: undefined) => flow.receive<string>("go"));
/** Longer than a wait that does not show in the row of the flow. */
const SHOWN_MS = 100;

test("an error of the engine in a timer of a flow ends no flow: it runs again [J582]", async () => {
  const store = new Failing(1);
  await using b = await bench([waits], { store });
  const run = await b.until(b.flows.start(waits, undefined));
  await b.clock.advance(SHOWN_MS);
  expect(store.left).toBe(0);
  await b.until(run.send("go", "sent"));
  expect(await b.until(run.result())).toBe("sent");
});

test("a flow at which the engine fails again and again comes to the hospital, and can go on [J582]", async () => {
  const store = new Failing(Number.POSITIVE_INFINITY);
  await using b = await bench([waits], { store });
  const run = await b.until(b.flows.start(waits, undefined));
  const inHospital = async (): Promise<boolean> => (await b.flows.hospital.patients()).length > 0;
  while (!(await b.until(inHospital()))) await b.clock.advance(SHOWN_MS);
  const [patient] = await b.until(b.flows.hospital.patients());
  expect(patient?.record?.symptom).toMatchObject({ kind: "engine" });
  store.left = 0;
  await b.until(b.flows.hospital.discharge(run.id));
  await b.until(run.send("go", "sent"));
  expect(await b.until(run.result())).toBe("sent");
});
