// The table of errors of stores, without a store.

import { SqlError, StoreError, StoreFullError, TransactionOvertakenError } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { kindOf } from "../../lib/flow/hospital/symptom.js";
import {
  classOf,
  classOfCode,
  classOfSqlState,
  endsConnection,
  passes,
  told,
  toldIn,
} from "../../lib/store/error-classes.js";

/** A code, its class, and the kind of symptom that it is for the hospital. */
const TABLE = [
  ["40001", "contention", "deadlock"],
  ["40P01", "contention", "deadlock"],
  ["55P03", "contention", "deadlock"],
  ["57014", "timeout", "timeout"],
  ["25P03", "timeout", "timeout"],
  ["57P01", "unreachable", "connection"],
  ["57P02", "unreachable", "connection"],
  ["57P03", "unreachable", "connection"],
  ["08006", "unreachable", "connection"],
  ["25006", "unreachable", "connection"],
  ["53000", "exhausted", "exhausted"],
  ["53100", "exhausted", "exhausted"],
  ["53200", "exhausted", "exhausted"],
  ["53300", "exhausted", "exhausted"],
  ["XX000", "failing", "server"],
  ["58030", "failing", "server"],
  ["XX001", "damaged", "store"],
  ["XX002", "damaged", "store"],
  ["23505", "constraint", "constraint"],
  ["23514", "constraint", "constraint"],
  ["22012", "refused", "store"],
  ["42P01", "refused", "store"],
  ["42601", "refused", "store"],
  ["28P01", "refused", "store"],
  ["P0001", "refused", "store"],
  ["SQLITE_BUSY_SNAPSHOT", "contention", "deadlock"],
  ["SQLITE_FULL", "exhausted", "exhausted"],
  ["SQLITE_IOERR_WRITE", "failing", "server"],
  ["SQLITE_CORRUPT", "damaged", "store"],
  ["SQLITE_CONSTRAINT_UNIQUE", "constraint", "constraint"],
  ["SQLITE_ERROR", "refused", "store"],
  ["ECONNREFUSED", "unreachable", "connection"],
  ["ENOSPC", "exhausted", "exhausted"],
  ["EIO", "failing", "server"],
  ["ERR_STORE_OVERTAKEN", "contention", "deadlock"],
  ["ERR_STORE_TRANSACTION_TIMEOUT", "timeout", "timeout"],
  ["ERR_STORE_UNREACHABLE", "unreachable", "connection"],
  ["ERR_STORE_FULL", "exhausted", "exhausted"],
  ["ERR_STORE_OVERLOADED", "exhausted", "exhausted"],
  ["ERR_STORE_FENCED", "over", "store"],
] as const;

const PASSING = ["contention", "timeout", "unreachable", "exhausted", "failing"];

describe("the classes of errors of a store", () => {
  it.each(TABLE)("%s is of class %s, for the hospital of kind %s [K240]", (code, of, kind) => {
    expect(classOfCode(code)).toBe(of);
    const error = new StoreError("refused", { cause: Object.assign(new Error("below"), { code }) });
    expect(classOf(error)).toBe(of);
    expect(kindOf(error)).toBe(kind);
    expect(passes(of)).toBe(PASSING.includes(of));
  });

  it("are read from results of SQLite, the extended ones too", () => {
    const SQLITE_BUSY = 5;
    const SQLITE_IOERR_WRITE = 10 | (3 << 8);
    const SQLITE_CONSTRAINT_UNIQUE = 19 | (8 << 8);
    const SQLITE_ERROR = 1;
    const results = [SQLITE_BUSY, SQLITE_IOERR_WRITE, SQLITE_CONSTRAINT_UNIQUE, SQLITE_ERROR];
    const classes = results.map((result) => classOf(new SqlError("select 1", "no", result)));
    expect(classes).toEqual(["contention", "failing", "constraint", "refused"]);
  });

  it("are read from the outermost error that the table knows, and not from codes of others", () => {
    const deadlock = Object.assign(new Error("below"), { code: "40P01" });
    expect(classOf(new StoreFullError("/data", deadlock))).toBe("exhausted");
    expect(classOf(new TransactionOvertakenError(3))).toBe("contention");
    expect(classOf(Object.assign(new Error("of HTTP"), { code: 503 }))).toBeUndefined();
    expect(classOf(Object.assign(new Error("of a file"), { code: "ENOENT" }))).toBeUndefined();
    const looped = new Error("looped");
    looped.cause = looped;
    const hostile = {
      get code() {
        throw new Error("no");
      },
    };
    for (const one of [looped, hostile, null, undefined, 5, "text"]) expect(classOf(one)).toBeUndefined();
  });

  it("say whether the server ends the connection", () => {
    const ending = ["08006", "08P01", "40003", "25P03", "25P04", "57P01", "57P02", "57P03"];
    expect(ending.filter((code) => !endsConnection(code))).toEqual([]);
    expect(["40001", "57014", "53100", "25006", "XX000", "23505"].filter(endsConnection)).toEqual([]);
    expect(classOfSqlState("EPIPE")).toBeUndefined();
  });
});

describe("an error of a statement", () => {
  it("is found in what a body threw for it: the error, a cause of it, one of several; and no other's is", () => {
    const tx = {};
    const error = new SqlError("select 1", "lock not available", "55P03");
    told(tx, error);
    const wrapped = new Error("transfer failed", { cause: new Error("debit failed", { cause: error }) });
    for (const thrown of [error, wrapped, new AggregateError([new Error("other"), error])])
      expect(toldIn(tx, thrown)).toBe(error);
    for (const thrown of [new SqlError("select 1", "x", "55P03"), new Error("own"), "text", undefined])
      expect(toldIn(tx, thrown)).toBeUndefined();
    expect(toldIn({}, error)).toBeUndefined();
  });
});
