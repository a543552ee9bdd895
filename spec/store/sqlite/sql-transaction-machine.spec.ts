import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type SqlTransactionEffect,
  type SqlTransactionEvent,
  type SqlTransactions,
} from "../../../lib/store/sqlite/sql-transaction-machine.js";
import { sized } from "../../support/proof.js";

/** A statement of the model: adds to a number, and answers with the sum. 0 only reads. */
interface Statement {
  readonly key: number;
  readonly add: number;
}

type Data = readonly number[];

const KEYS = 3;
const start: Data = [0, 0, 0];

const perform = (data: Data, { key, add }: Statement): { readonly data: Data; readonly answer: string } => {
  const next = data.map((value, i) => (i === key ? value + add : value));
  return { data: next, answer: String(next[key]) };
};

/** The body of a transaction: what it asks next depends on what it was answered. */
const nextOf = (body: readonly Statement[], answers: readonly string[]): Statement | undefined => {
  const statement = body[answers.length];
  if (statement === undefined) return undefined;
  const last = Number(answers.at(-1) ?? 0);
  return { key: (statement.key + last) % KEYS, add: statement.add };
};

/** Carries out what the machine decides on a database with one connection. */
class Database {
  /** What is committed. */
  data: Data = start;
  /** What the open transaction sees. */
  open: Data | undefined;
  state: SqlTransactions = initial({ mostStatements: 10 });
  readonly asked = new Map<number, Statement[]>();
  /** Commits in their order: how each changes the data, and what it was answered. */
  readonly history: ((data: Data) => { readonly data: Data; readonly answers: readonly string[] })[] = [];
  readonly seen: (readonly string[])[] = [];

  others(statement: Statement): void {
    expect(this.#event({ type: "others" })).toBeUndefined();
    expect(this.open).toBeUndefined();
    const { answer, data } = perform(this.data, statement);
    this.data = data;
    this.#committed([statement], [answer]);
  }

  /** What the statement answers; undefined: overtaken. */
  execute(id: number, statement: Statement): string | undefined {
    const asked = this.asked.get(id) ?? [];
    this.asked.set(id, [...asked, statement]);
    return this.#event({ type: "execute", id });
  }

  /** Whether it is committed. */
  finish(id: number, answers: readonly string[]): boolean {
    const isDone = this.#event({ type: "finish", id }) === "commit";
    if (isDone) {
      this.data = this.open as Data;
      this.open = undefined;
      this.#committed(this.asked.get(id) ?? [], answers);
    }
    this.#event({ type: "ended", id });
    return isDone;
  }

  #committed(statements: readonly Statement[], answers: readonly string[]): void {
    this.seen.push(answers);
    this.history.push((data) => {
      const given: string[] = [];
      for (const statement of statements) {
        const { answer, data: next } = perform(data, statement);
        given.push(answer);
        data = next;
      }
      return { data, answers: given };
    });
  }

  #event(event: SqlTransactionEvent): string | undefined {
    let told: string | undefined;
    for (const queue = [event]; queue.length > 0; ) {
      const [state, effects] = decide(this.state, queue.shift() as SqlTransactionEvent);
      this.state = state;
      for (const effect of effects) told = this.#effect(effect, queue) ?? told;
    }
    return told;
  }

  #effect(effect: SqlTransactionEffect, queue: SqlTransactionEvent[]): string | undefined {
    switch (effect.type) {
      case "rollback":
        this.open = undefined;
        return undefined;
      case "replay": {
        expect(this.open).toBeUndefined();
        this.open = this.data;
        const asked = this.asked.get(effect.id) ?? [];
        const same = effect.answers.every((answer, i) => this.#run(asked[i] as Statement) === answer);
        queue.push({ type: "replayed", id: effect.id, same });
        return undefined;
      }
      case "run": {
        const answer = this.#run(this.asked.get(effect.id)?.at(-1) as Statement);
        queue.push({ type: "answered", id: effect.id, answer });
        return answer;
      }
      case "overtaken":
        this.asked.delete(effect.id);
        return undefined;
      case "commit":
        return "commit";
      default:
        throw new Error("a statement too many");
    }
  }

  #run(statement: Statement): string {
    const { data, answer } = perform(this.open as Data, statement);
    this.open = data;
    return answer;
  }
}

const statement = fc.record({ key: fc.nat(KEYS - 1), add: fc.nat(2) });
const bodies = fc.array(fc.array(statement, { maxLength: 4 }), { minLength: 1, maxLength: 3 });
const schedule = fc.array(
  fc.oneof(fc.nat(2), statement),
  // Who comes next: a body, by its place, or a group of others.
  { maxLength: 40 },
);

describe("transactions of users by optimistic replay", () => {
  it("end as a serial execution, and are answered as in it [K16]", () => {
    let commits = 0;
    let overtaken = 0;
    fc.assert(
      fc.property(bodies, schedule, (programs, turns) => {
        const database = new Database();
        const running = programs.map((body, i) => ({
          body,
          id: i + 1,
          answers: [] as string[],
          done: false,
        }));
        let ids = programs.length;
        for (const turn of turns) {
          if (typeof turn !== "number") {
            database.others(turn);
            continue;
          }
          const one = running[turn % running.length];
          if (one === undefined || one.done) continue;
          const next = nextOf(one.body, one.answers);
          const answer = next === undefined ? undefined : database.execute(one.id, next);
          if (answer !== undefined) one.answers.push(answer);
          else if (next === undefined && database.finish(one.id, one.answers)) {
            one.done = true;
            commits++;
          } else {
            // Overtaken: the body begins again.
            overtaken++;
            one.id = ++ids;
            one.answers = [];
          }
        }
        let data: Data = start;
        for (const [i, commit] of database.history.entries()) {
          const result = commit(data);
          expect(result.answers).toEqual(database.seen[i]);
          data = result.data;
        }
        expect(data).toEqual(database.data);
      }),
      { numRuns: sized(500, 1, 500) },
    );
    expect(commits).toBeGreaterThan(100);
    expect(overtaken).toBeGreaterThan(20);
  });

  it("roll back for others at once, whatever they do [K17]", () => {
    const events = (id: number): SqlTransactionEvent[] => [
      { type: "execute", id },
      { type: "answered", id, answer: "1" },
      { type: "finish", id },
      { type: "replayed", id, same: true },
      { type: "replayed", id, same: false },
      { type: "ended", id },
    ];
    const all: SqlTransactionEvent[] = [...events(1), ...events(2), { type: "others" }];
    let states = new Map([["", initial({ mostStatements: 2 })]]);
    for (let depth = 0; depth < 5; depth++) {
      const next = new Map<string, SqlTransactions>();
      for (const state of states.values()) {
        const [after, effects] = decide(state, { type: "others" });
        expect(after.holder).toBeUndefined();
        expect(effects).toEqual(state.holder === undefined ? [] : [{ type: "rollback" }]);
        for (const event of all) {
          const [one] = decide(state, event);
          next.set(JSON.stringify([one.holder, ...one.transactions]), one);
        }
      }
      states = next;
    }
    expect(states.size).toBeGreaterThan(20);
  });

  it("keep what one statement has answered from all others, and no more statements than allowed", () => {
    let state = initial({ mostStatements: 1 });
    [state] = decide(state, { type: "execute", id: 1 });
    [state] = decide(state, { type: "replayed", id: 1, same: true });
    [state] = decide(state, { type: "answered", id: 1, answer: "a" });
    expect(decide(state, { type: "execute", id: 1 })[1]).toEqual([{ type: "refuse", id: 1, most: 1 }]);
    expect(decide(state, { type: "finish", id: 1 })[1]).toEqual([{ type: "commit", id: 1 }]);
    [state] = decide(state, { type: "execute", id: 2 });
    expect(decide(state, { type: "finish", id: 1 })[1]).toEqual([
      { type: "rollback" },
      { type: "replay", id: 1, answers: ["a"] },
    ]);
  });
});
