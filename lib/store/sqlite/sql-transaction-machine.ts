// Transactions of users on the one connection, which group commits of others need as well. Optimistic replay:
//
//     A statement runs as it comes, inside the transaction of the database that is open. When others need the connection, that
//     transaction is rolled back. Before the next statement, and before the commit, the statements so far run again: if each
//     answers as it did, nothing is lost by the rollback. If one answers differently, another writer was faster: the body was
//     overtaken, and has to begin again.
//
// So a slow body holds up no other writer. A commit is one run of all statements without another writer in between, and this run gave
// every answer that the body has seen. That is a serial execution.
//
// The thread gets the source of these two functions as text (engine-program.ts), so they use nothing of this file but types.

/** A transaction of a user. */
interface Open {
  /** The answer of each statement, in order: a hash of the rows, or the code of the error. */
  readonly answers: readonly string[];
  /** The work that waits until the statements have run again. */
  readonly doing: "nothing" | "execute" | "finish";
}

export interface SqlTransactions {
  readonly mostStatements: number;
  readonly transactions: ReadonlyMap<number, Open>;
  /** The transaction whose statements the open transaction of the database holds. */
  readonly holder: number | undefined;
}

export type SqlTransactionEvent =
  /** The body asks for its next statement. The first one begins the transaction. */
  | { readonly type: "execute"; readonly id: number }
  /** A statement gave this answer. */
  | { readonly type: "answered"; readonly id: number; readonly answer: string }
  /** The body has ended well. */
  | { readonly type: "finish"; readonly id: number }
  /** The statements have run again: whether each gave the answer it gave before. */
  | { readonly type: "replayed"; readonly id: number; readonly same: boolean }
  /** The transaction has ended: committed, given up, or ended by an error of the database. */
  | { readonly type: "ended"; readonly id: number }
  /** Others need the connection. */
  | { readonly type: "others" };

export type SqlTransactionEffect =
  | { readonly type: "rollback" }
  /** Begin, run the statements of this transaction again, compare the answers. Leads to `replayed`. */
  | { readonly type: "replay"; readonly id: number; readonly answers: readonly string[] }
  /** Run the statement that was asked for. Leads to `answered`. */
  | { readonly type: "run"; readonly id: number }
  | { readonly type: "commit"; readonly id: number }
  | { readonly type: "overtaken"; readonly id: number }
  | { readonly type: "refuse"; readonly id: number; readonly most: number };

export function initial(config: { readonly mostStatements: number }): SqlTransactions {
  return { ...config, transactions: new Map(), holder: undefined };
}

export function decide(
  state: SqlTransactions,
  event: SqlTransactionEvent,
): readonly [SqlTransactions, readonly SqlTransactionEffect[]] {
  const changed = (id: number, change: Partial<Open>): ReadonlyMap<number, Open> => {
    const before = state.transactions.get(id) ?? { answers: [], doing: "nothing" };
    return new Map(state.transactions).set(id, { ...before, ...change });
  };
  const without = (id: number): ReadonlyMap<number, Open> => {
    const rest = new Map(state.transactions);
    rest.delete(id);
    return rest;
  };
  const rollback = (): SqlTransactionEffect[] => (state.holder === undefined ? [] : [{ type: "rollback" }]);
  switch (event.type) {
    case "execute":
    case "finish": {
      const { id, type } = event;
      const answers = state.transactions.get(id)?.answers ?? [];
      if (type === "execute" && answers.length >= state.mostStatements)
        return [state, [{ type: "refuse", id, most: state.mostStatements }]];
      const next = { ...state, transactions: changed(id, { doing: type }), holder: id };
      if (state.holder === id) return [next, [{ type: type === "execute" ? "run" : "commit", id }]];
      return [next, [...rollback(), { type: "replay", id, answers }]];
    }
    case "replayed": {
      const { id, same } = event;
      const doing = state.transactions.get(id)?.doing;
      if (doing === undefined || doing === "nothing" || state.holder !== id) return [state, []];
      if (same) return [state, [{ type: doing === "execute" ? "run" : "commit", id }]];
      const next = { ...state, transactions: without(id), holder: undefined };
      return [next, [{ type: "rollback" }, { type: "overtaken", id }]];
    }
    case "answered": {
      const { id, answer } = event;
      const open = state.transactions.get(id);
      if (open === undefined) return [state, []];
      const answers = [...open.answers, answer];
      return [{ ...state, transactions: changed(id, { answers, doing: "nothing" }) }, []];
    }
    case "ended": {
      const held = state.holder === event.id;
      const next = { ...state, transactions: without(event.id), holder: held ? undefined : state.holder };
      return [next, held ? rollback() : []];
    }
    case "others":
      return [{ ...state, holder: undefined }, rollback()];
    default:
      throw new Error(`unknown event ${JSON.stringify(event satisfies never)}`);
  }
}
