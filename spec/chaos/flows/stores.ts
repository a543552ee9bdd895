// The bookings that flows make in the store of a kill test.

import { System } from "signalbox";
import { openStore, type SqlTransaction } from "signalbox/store";
import { type StorePlace, storeAt } from "../stores.js";

/** The user's own table, in the store's own database. */
const TABLE = "create table if not exists bookings (flow text not null, step text not null)";

/** One booking of a flow. Two with the same names can be told from one. */
export async function book(tx: SqlTransaction, flow: string, step: string): Promise<void> {
  await tx.execute(TABLE);
  // Names are words of this test: no statement has to be written twice for the two kinds of parameters.
  await tx.execute(`insert into bookings values ('${flow}', '${step}')`);
}

/** What each account has at first. */
const BALANCE = 1_000;

/** Makes the accounts between which {@link transfer} moves money. */
export function makeAccounts(place: StorePlace, accounts: number): Promise<unknown> {
  return inStore(place, async (tx) => {
    await tx.execute("create table accounts (id int primary key, balance int not null)");
    await tx.execute(`insert into accounts select i, ${BALANCE} from generate_series(0, ${accounts - 1}) i`);
  });
}

/** A booking that moves money, and reads all accounts: it is in the way of every other one. */
export async function transfer(
  tx: SqlTransaction,
  flow: string,
  step: string,
  accounts: number,
): Promise<void> {
  const sum = [...`${flow} ${step}`].reduce((all, one) => (all * 31 + one.charCodeAt(0)) % 1_000_003, 7);
  const from = sum % accounts;
  const to = (from + 1 + (Math.floor(sum / accounts) % (accounts - 1))) % accounts;
  await tx.execute("select sum(balance) from accounts");
  await tx.execute("update accounts set balance = balance - 1 where id = $1", [from]);
  await tx.execute("update accounts set balance = balance + 1 where id = $1", [to]);
  await book(tx, flow, step);
}

/** What is wrong with the accounts, in words. */
export async function faultsOfAccounts(place: StorePlace, accounts: number): Promise<string[]> {
  const { rows } = await inStore(place, (tx) =>
    tx.execute<{ sum: number }>("select sum(balance)::int as sum from accounts"),
  );
  const [sum, expected] = [Number(rows[0]?.sum), accounts * BALANCE];
  return sum === expected ? [] : [`the accounts have ${sum}, not ${expected}`];
}

/** How often each booking is there, by `flow step`. Opens the store by itself: no host may hold a SQLite file meanwhile. */
export async function bookingsOf(place: StorePlace): Promise<Map<string, number>> {
  const { rows } = await inStore(place, async (tx) => {
    await tx.execute(TABLE);
    return tx.execute<{ flow: string; step: string }>("select flow, step from bookings");
  });
  const counts = new Map<string, number>();
  for (const { flow, step } of rows) counts.set(`${flow} ${step}`, (counts.get(`${flow} ${step}`) ?? 0) + 1);
  return counts;
}

async function inStore<T>(place: StorePlace, body: (tx: SqlTransaction) => Promise<T>): Promise<T> {
  const system = new System({ report: false });
  const store = await openStore(system, storeAt(place), []);
  try {
    return await store.transaction(body);
  } finally {
    await store.close();
    await system.stop();
  }
}
