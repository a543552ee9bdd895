import { describe, expect, it } from "vitest";
import { checkStatement } from "../../../lib/store/sqlite/sql-guard.js";

describe("statements of users", () => {
  it.each([
    ["begin immediate", "BEGIN is refused"],
    ["  /* a */ -- b\n COMMIT", "COMMIT is refused"],
    ["end", "END is refused"],
    ["rollback", "ROLLBACK is refused"],
    ["savepoint a", "SAVEPOINT is refused"],
    ["release a", "RELEASE is refused"],
    ["attach 'x' as y", "ATTACH is refused"],
    ["detach y", "DETACH is refused"],
    ["pragma journal_mode = delete", "PRAGMA is refused"],
    ["vacuum", "VACUUM is refused"],
    ["explain select 1", "EXPLAIN is refused"],
    ["insert or rollback into t values (1)", "ROLLBACK is refused"],
    ["create table t (a unique on conflict rollback)", "ROLLBACK is refused"],
    ["select * from signalbox_orders", "signalbox_orders is a table of the library"],
    ['select * from "SIGNALBOX_orders"', "is a table of the library"],
    ["select * from [signalbox_orders]", "is a table of the library"],
    ["select * from `signalbox_orders`", "is a table of the library"],
    ["insert into 'signalbox_orders' values (1)", "is a table of the library"],
    [
      "create trigger a after insert on t begin delete from signalbox_orders; end",
      "is a table of the library",
    ],
    ["update sqlite_sequence set seq = 0", "belongs to the database"],
    ["select 1; select 2", "one statement"],
    ["", "no statement"],
    ["-- nothing", "no statement"],
    ["select 1\0", "no NUL"],
    ["select :name", "has a name"],
    ["select @name", "has a name"],
    ["select ?", "has 1 parameters, and 0 were given"],
  ])("refuses %j", (sql, why) => {
    expect(() => checkStatement(sql, [])).toThrow(why);
  });

  it.each([
    ["select 'begin; rollback' as \"rollback\"", 0],
    ["select ';', 1 -- ; select 2", 0],
    ["insert into t values (?, ?1, ?3);", 3],
    ["create trigger a after insert on t begin update t set a = 1; delete from u; end;", 0],
    ["select x'00', 1.5e3, \"it's\", 'it''s ?', [a?b] from t", 0],
    ['select "a""signalbox_" from t', 0],
    ["with a as (select 1) select * from a", 0],
  ])("lets %j pass", (sql, parameters) => {
    expect(checkStatement(sql, Array<null>(parameters).fill(null))).toHaveLength(parameters);
  });

  it.each([[Number.NaN], [2n ** 64n], ["a\0b"], ["\ud800"], [undefined], [{}], [() => 1]])(
    "refuses the parameter %s",
    (value) => {
      expect(() => checkStatement("select ?", [value as never])).toThrow("parameter 1 must be");
    },
  );

  it("reads a long statement in time that grows with its length", () => {
    for (const part of ["'", '"', "/*", "--", "[", "? ", "a", "''", "\u2028"])
      expect(() => checkStatement(`select ${part.repeat(100_000)}`, [null])).not.toThrow(RangeError);
  });
});
