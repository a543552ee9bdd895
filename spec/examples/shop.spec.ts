// The order service: its parts one by one, and then all of it over real HTTP, with processes, threads and the whole shop killed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc, test } from "@fast-check/vitest";
import { type Pid, System } from "signalbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bookOf, Journal } from "../../examples/shop/journal.js";
import { print } from "../../examples/shop/label-worker.js";
import { BadOrderError, type Fact, type Order, parseOrder } from "../../examples/shop/order.js";
import { BAD_CARD, openOutside } from "../../examples/shop/outside.js";
import { type Charge, partnersOf } from "../../examples/shop/partners.js";
import { type Paid, Payment } from "../../examples/shop/payment.js";
import { faultsOf, type Report } from "../../examples/shop/report.js";
import { needsOf, OutOfStockError, Stock } from "../../examples/shop/stock.js";
import { Compiled } from "../support/compiled.js";
import { proving } from "../support/proof.js";
import { until } from "../support/until.js";

const ORDER: Order = { id: "order-1", card: "good", lines: [{ sku: "tea", count: 2 }] };
const PAID: Paid = { type: "paid", receipt: "receipt-1" };

const folder = mkdtempSync(join(tmpdir(), "shop-spec-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `journal-${++files}`);

describe("an order", () => {
  it("is taken as it is sent", () => {
    expect(parseOrder({ ...ORDER, gift: true })).toEqual(ORDER);
  });

  it.each([
    ["nothing", undefined, /object/],
    ["an id that is no name", { ...ORDER, id: "a b" }, /id: 1 to 64 letters/],
    ["no lines", { ...ORDER, lines: [] }, /lines: /],
    ["half a piece", { ...ORDER, lines: [{ sku: "tea", count: 0.5 }] }, /lines\.0\.count: /],
    ["less than nothing", { ...ORDER, lines: [{ sku: "tea", count: -1 }] }, /lines\.0\.count: /],
    ["no card", { ...ORDER, card: "" }, /card: /],
  ])("is refused with %s", (_what, given, message) => {
    expect(() => parseOrder(given)).toThrow(BadOrderError);
    expect(() => parseOrder(given)).toThrow(message);
  });
});

describe("the journal", () => {
  it("has a fact on the disk before it says so, and keeps the first of its kind", async () => {
    await using system = new System({ report: false });
    const path = newFile();
    const journal = await system.start(Journal, path);
    const first: Fact = { type: "charged", id: "order-1", receipt: "a" };
    expect(await journal.call.append(first)).toEqual(first);
    expect(bookOf(readFileSync(path, "utf8")).get("order-1")).toEqual({ charged: first });
    expect(await journal.call.append({ ...first, receipt: "b" })).toEqual(first);
  });

  it("knows after a kill what it has said, and passes over a line that was cut off", async () => {
    await using system = new System({ report: false });
    const path = newFile();
    const fact: Fact = { type: "accepted", id: "order-1", order: ORDER };
    const journal = await system.start(Journal, path);
    await journal.call.append(fact);
    system.exit(journal.pid as Pid, "kill");
    writeFileSync(path, '{"type":"reserved","id":"ord', { flag: "a" });
    const next = await system.start(Journal, path);
    expect(await next.call.open()).toEqual([ORDER]);
    await next.call.append({ type: "shipped", id: "order-1", parcel: "p" });
    expect(bookOf(readFileSync(path, "utf8")).get("order-1")?.shipped?.parcel).toBe("p");
  });
});

describe("the stock", () => {
  const levels = { tea: 3, pots: 1 };

  it("reserves all lines of an order or none, and an order once", async () => {
    await using system = new System({ report: false });
    const journal = await system.start(Journal, newFile());
    const stock = await system.start(Stock, levels, journal);
    await stock.call.reserve(ORDER);
    await stock.call.reserve(ORDER);
    expect(await stock.call.left()).toEqual({ tea: 1, pots: 1 });
    const lines = [
      { sku: "pots", count: 1 },
      { sku: "tea", count: 1 },
      { sku: "tea", count: 1 },
    ];
    await expect(stock.call.reserve({ ...ORDER, id: "order-2", lines })).rejects.toThrow(OutOfStockError);
    expect(await stock.call.left()).toEqual({ tea: 1, pots: 1 });
    await stock.call.release("order-1");
    await stock.call.release("order-1");
    expect(await stock.call.left()).toEqual(levels);
  });

  it("counts itself anew from the journal after a crash", async () => {
    await using system = new System({ report: false });
    const journal = await system.start(Journal, newFile());
    await journal.call.append({ type: "accepted", id: "order-1", order: ORDER });
    await journal.call.append({ type: "reserved", id: "order-1" });
    const stock = await system.start(Stock, levels, journal);
    expect(await stock.call.left()).toEqual({ tea: 1, pots: 1 });
  });

  test.prop([
    fc.array(
      fc.record({ sku: fc.constantFrom("tea", "pots", "cups"), count: fc.integer({ min: 1, max: 9 }) }),
    ),
  ])("needs of each article as many pieces as all lines together", (lines) => {
    const needs = needsOf({ ...ORDER, lines });
    for (const sku of ["tea", "pots", "cups"]) {
      let pieces = 0;
      for (const line of lines) if (line.sku === sku) pieces += line.count;
      expect(needs.get(sku) ?? 0).toBe(pieces);
    }
  });
});

describe("the payment", () => {
  const charge = Object.assign(async () => PAID, { with: () => async () => PAID }) as unknown as Charge;

  it("charges when it is due, lets others wait meanwhile, and answers all with the same", async () => {
    await using system = new System({ report: false });
    const payment = await system.start(Payment, ORDER, charge);
    const answers = await Promise.all([payment.call.pay(), payment.call.pay(), payment.call.pay()]);
    expect(answers).toEqual([PAID, PAID, PAID]);
  });

  it("is drawn with all its ways", () => {
    for (const state of ["due", "charging", "settled"]) expect(Payment.toMermaid()).toContain(state);
  });
});

describe("the partners", () => {
  it("are asked until they answer, and do what they are asked to do once", async () => {
    const rolls = [0.05, 0.12, 0.9, 0.9];
    await using outside = await openOutside({ refuse: 0.1, cutOff: 0.05 }, () => rolls.shift() ?? 0.9);
    await using system = new System({ report: false });
    const { charge } = partnersOf(system, outside.url);
    expect(await charge(ORDER)).toEqual({ type: "paid", receipt: "receipt-1" });
    expect(await charge({ ...ORDER, id: "order-2", card: BAD_CARD })).toEqual({
      type: "declined",
      why: "no money",
    });
    expect([...outside.books.charges]).toEqual([["order-1", 1]]);
    expect(outside.troubles).toBe(2);
  });
});

describe("the label", () => {
  it("is the same for the same order", () => {
    expect(print(ORDER)).toBe(print({ ...ORDER }));
    expect(print(ORDER)).not.toBe(print({ ...ORDER, id: "order-2" }));
  });
});

describe("the report", () => {
  const GOOD: Report = { accepted: 2, shipped: 1, refused: 1, open: 0, pieces: { tea: 2 } };
  const once = new Map([["order-1", 1]]);

  it("finds nothing when all sums agree", () => {
    expect(faultsOf(GOOD, 2, { charges: once, parcels: once })).toEqual([]);
  });

  it.each([
    ["an order that was lost", { ...GOOD, accepted: 1, shipped: 0 }, 2, once, once],
    ["an order that is left", { ...GOOD, open: 1, refused: 0 }, 2, once, once],
    ["a card charged twice", GOOD, 2, new Map([["order-1", 2]]), once],
    ["a parcel sent twice", GOOD, 2, once, new Map([["order-1", 2]])],
    ["a parcel that nobody sent", GOOD, 2, once, new Map()],
    ["a charge without a parcel", GOOD, 2, new Map([...once, ["order-2", 1]]), once],
  ])("finds %s", (_what, report, sent, charges, parcels) => {
    expect(faultsOf(report, sent, { charges, parcels })).not.toEqual([]);
  });
});

/** What the shop says of an order. */
interface Fate {
  readonly settled: boolean;
  readonly refused?: string;
}

describe("the whole shop", () => {
  const DEMO = "examples/shop/demo.ts";
  let compiled: Compiled;
  beforeAll(async () => {
    compiled = new Compiled("shop");
    await compiled.bundle("examples/shop", "demo", "main", "label-worker");
  });
  afterAll(() => compiled.remove());

  it("loses no accepted order and doubles none, while its parts and the shop itself are killed", async () => {
    const orders = proving ? 150 : 45;
    const printed = await compiled.run(DEMO, ["--orders", `${orders}`, "--chaos", "40", "--traces"]);
    expect(printed).toContain("it ended with exit code 0");
    expect(printed).toContain(`${orders} accepted`);
    const kills = /^kills {5}.*$/m.exec(printed)?.[0] ?? "";
    for (const kind of ["bank", "carrier", "desk", "journal", "picker", "stock", "worker"])
      expect(kills).toMatch(new RegExp(`\\d ${kind}\\b`));
    for (const span of ["journal/append", "payment/pay", "dispatch pickers"])
      expect(printed).toContain(`name: '${span}'`);
    expect(printed.endsWith("exact: no accepted order lost, none doubled"), printed).toBe(true);
  });

  it("takes orders, tells what became of them, and answers probes and scrapes", async () => {
    await using outside = await openOutside({ refuse: 0, cutOff: 0 }, Math.random);
    const env = {
      SHOP_JOURNAL: newFile(),
      SHOP_PARTNERS: outside.url,
      SHOP_PORT: "0",
      SHOP_LEVELS: '{"tea":3}',
    };
    const service = spawn(process.execPath, [...compiled.argsFor("examples/shop/main.ts")], {
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const [printed] = (await once(service.stdout, "data")) as [Buffer];
    const url = /open at (\S+)/.exec(String(printed))?.[1] ?? "";
    const post = (order: unknown): Promise<Response> =>
      fetch(`${url}/orders`, { method: "POST", body: JSON.stringify(order) });
    expect((await post({ ...ORDER, lines: [] })).status).toBe(400);
    expect((await post(ORDER)).status).toBe(202);
    expect((await post(ORDER)).headers.get("location")).toBe("/orders/order-1");
    expect((await post({ ...ORDER, id: "order-2" })).status).toBe(202);
    const fate = async (id: string): Promise<Fate> =>
      (await (await fetch(`${url}/orders/${id}`)).json()) as Fate;
    await until(async () => (await fate("order-1")).settled && (await fate("order-2")).settled);
    expect([(await fate("order-1")).refused, (await fate("order-2")).refused]).toContain(
      "2 of tea wanted, 1 left",
    );
    expect((await fetch(`${url}/orders/order-3`)).status).toBe(404);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('label="journal"');
    expect(outside.books.parcels.size).toBe(1);
    service.kill("SIGTERM");
    expect((await once(service, "close"))[0]).toBe(0);
  });

  it("says what is wrong with its configuration, and ends with a code of its own", async () => {
    const printed = await compiled.run("examples/shop/main.ts");
    expect(printed).toContain("SHOP_JOURNAL");
    expect(printed).toContain("SHOP_PARTNERS");
    expect(printed).toMatch(/\(exit code \d+\)$/);
  });
});
