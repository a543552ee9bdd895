// Random write sets on a few small tables, with few values, so that they meet.

import * as fc from "fast-check";
import {
  defineTable,
  type Expectation,
  type RowWrite,
  type Table,
  type Write,
  type WriteSet,
} from "signalbox/store";

export const plain: Table = defineTable("plain", {
  columns: { id: "text", body: "payload?", n: "integer?" },
  key: ["id"],
  indexes: { by_n: ["n", "id"] },
});
export const pair: Table = defineTable("pair", {
  columns: { a: "text", b: "integer", u: "integer?", v: "text?", x: "real?" },
  key: ["a", "b"],
  indexes: { by_u: ["u"], by_uv: ["u", "v"], by_v: ["v"] },
  unique: ["by_u"],
});
export const log: Table = defineTable("log", {
  columns: { no: "integer", flow: "text", body: "payload?" },
  key: ["no"],
  counted: "no",
  indexes: { flow: ["flow", "no"] },
});
export const mail: Table = defineTable("mail", {
  columns: { no: "integer", dedup: "text?", to: "text", read: "integer?" },
  key: ["no"],
  counted: "no",
  indexes: { dedup: ["dedup", "to"], to: ["to"] },
  unique: ["dedup"],
});
export const tables: readonly Table[] = [plain, pair, log, mail];

const id = fc.constantFrom("a", "b", "c");
const few = fc.integer({ min: 0, max: 2 });
const orNull = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { nil: null, freq: 3 });
const body = orNull(fc.constantFrom("x", "", new Uint8Array([1, 2]), new Uint8Array()));

const plainRow = fc.record({ id, n: orNull(few), body });
const pairRow = fc.record({ a: id, b: few, u: orNull(few), v: orNull(id) }, { requiredKeys: ["a", "b"] });
const logRow = fc.record({ flow: id, body });
const mailRow = fc.record({ dedup: orNull(id), to: id });

const add = (
  table: Table,
  type: "insert" | "offer" | "put",
  row: fc.Arbitrary<object>,
): fc.Arbitrary<Write> => row.map((values) => ({ type, table, row: values }) as Write);
const by = (table: Table, key: fc.Arbitrary<unknown[]>, more: object): fc.Arbitrary<Write> =>
  key.map((values) => ({ ...more, table, key: values }) as unknown as Write);
const clear = (
  table: Table,
  index: string | undefined,
  prefix: fc.Arbitrary<unknown[]>,
): fc.Arbitrary<Write> =>
  prefix.map((values) => ({ type: "clear", table, ...(index && { index }), prefix: values }) as Write);

const plainKey = id.map((one) => [one]);
const pairKey = fc.tuple(id, few);

const change = (table: Table, key: fc.Arbitrary<unknown[]>, set: fc.Arbitrary<object>): fc.Arbitrary<Write> =>
  fc.tuple(key, set).map(([values, given]) => ({ type: "update", table, key: values, set: given }) as Write);

/** Writes of rows whose keys the writer chooses. */
const keyed: fc.Arbitrary<RowWrite> = fc.oneof(
  add(plain, "insert", plainRow),
  add(plain, "offer", plainRow),
  add(plain, "put", plainRow),
  change(plain, plainKey, fc.record({ n: orNull(few), body }, { requiredKeys: [] })),
  by(plain, plainKey, { type: "update", add: { n: 1 } }),
  by(plain, plainKey, { type: "update", set: { body: "big" }, add: { n: Number.MAX_SAFE_INTEGER } }),
  by(plain, plainKey, { type: "delete" }),
  by(plain, plainKey, { type: "delete", blind: true }),
  clear(
    plain,
    "by_n",
    fc.oneof(
      fc.constant<unknown[]>([]),
      few.map((n) => [n]),
      fc.tuple(few, id),
    ),
  ),
  clear(plain, undefined, fc.oneof(fc.constant<unknown[]>([]), plainKey)),
  add(pair, "insert", pairRow),
  add(pair, "offer", pairRow),
  add(pair, "put", pairRow),
  change(pair, pairKey, fc.record({ u: orNull(few), v: orNull(id) }, { requiredKeys: [] })),
  by(pair, pairKey, { type: "update", add: { x: 0.5 } }),
  by(pair, pairKey, { type: "delete" }),
  by(pair, pairKey, { type: "delete", blind: true }),
  clear(
    pair,
    undefined,
    id.map((one) => [one]),
  ),
  clear(
    pair,
    "by_v",
    id.map((one) => [one]),
  ),
) as fc.Arbitrary<RowWrite>;

const when = (table: Table, key: fc.Arbitrary<unknown[]>, is: fc.Arbitrary<object>): fc.Arbitrary<Write> =>
  fc
    .tuple(key, is, fc.array(keyed, { maxLength: 3 }))
    .map(([values, given, made]) => ({ type: "when", table, key: values, is: given, writes: made }) as Write);

/** @param numbers - numbers of rows of counted tables, as a writer may know them */
const writes = (numbers: fc.Arbitrary<number>): fc.Arbitrary<Write> => {
  const numbered = numbers.map((one) => [one]);
  return fc.oneof(
    { weight: 19, arbitrary: keyed },
    ...[
      when(plain, plainKey, fc.record({ n: orNull(few), body }, { requiredKeys: [] })),
      when(pair, pairKey, fc.record({ u: orNull(few), v: orNull(id) }, { requiredKeys: [] })),
      when(log, numbered, fc.record({ flow: id }, { requiredKeys: [] })),
      add(log, "insert", logRow),
      add(log, "insert", logRow),
      by(log, numbered, { type: "delete" }),
      by(log, numbered, { type: "update", set: { body: "y" } }),
      clear(
        log,
        "flow",
        id.map((one) => [one]),
      ),
      add(mail, "insert", mailRow),
      add(mail, "offer", mailRow),
      by(mail, numbered, { type: "update", add: { read: 1 } }),
      by(mail, numbered, { type: "update", set: { dedup: "a", to: "b" } }),
      clear(
        mail,
        "to",
        id.map((one) => [one]),
      ),
    ].map((arbitrary) => ({ weight: 1, arbitrary })),
  );
};

const expectations = (numbers: fc.Arbitrary<number>): fc.Arbitrary<Expectation> => {
  const is = (values: object): fc.Arbitrary<unknown> => fc.constantFrom("absent", "present", values);
  const one = (table: Table, key: fc.Arbitrary<unknown[]>, values: object): fc.Arbitrary<Expectation> =>
    fc.record({ table: fc.constant(table), key, is: is(values) }) as fc.Arbitrary<Expectation>;
  return fc.oneof(
    one(plain, plainKey, { n: 1 }),
    one(plain, plainKey, { n: null, body: "x" }),
    one(pair, pairKey, { u: 1 }),
    one(
      log,
      numbers.map((n) => [n]),
      { flow: "a" },
    ),
    // By the index by which other sets clear the table: else a set of the same group may be refused without need.
    range(log, "flow"),
    range(log, "flow"),
    range(mail, "to"),
  );
};

const range = (table: Table, index: string): fc.Arbitrary<Expectation> =>
  fc.record({
    table: fc.constant(table),
    index: fc.constant(index),
    prefix: id.map((one) => [one]),
    rows: few,
  });

/** A write set. */
export const writeSet = (numbers: fc.Arbitrary<number>): fc.Arbitrary<WriteSet> =>
  fc.record({
    expect: fc.array(expectations(numbers), { maxLength: 1 }),
    writes: fc.array(writes(numbers), { maxLength: 4 }),
  });

/** Groups of write sets. The first group is applied before the second begins, and so on. */
export const groups: fc.Arbitrary<WriteSet[][]> = fc.array(
  // Numbers as they are given by the groups before; a set that guesses those of its own group would find nothing.
  fc.array(writeSet(fc.integer({ min: -1, max: 2 })), { minLength: 1, maxLength: 6 }),
  { minLength: 1, maxLength: 5 },
);
