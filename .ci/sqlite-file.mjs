// Adds a row to a store, and says what is in it.

import { defineTable, sqlite } from "signalbox/store";

const visits = defineTable("visits", {
  columns: { number: "integer", text: "text", bytes: "payload" },
  key: ["number"],
  counted: "number",
});
const context = {
  environment: { now: () => performance.now(), wallTime: () => Date.now() },
  after: (ms, fn) => {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
  warn: ({ message }) => console.log(message),
};
try {
  const store = await sqlite(process.argv[2]).open(
    [{ name: "visits", version: 1, tables: [visits] }],
    context,
  );
  const next = (await store.count(visits, {})) + 1;
  const row = { text: `visit ${next}`, bytes: new Uint8Array(next) };
  await store.commit({ writes: [{ type: "insert", table: visits, row }] });
  const rows = await store.scan(visits, {});
  const isWhole = rows.every(({ number, bytes }, i) => number === i + 1 && bytes.length === number);
  console.log(`${isWhole ? rows.length : "wrong"} rows, the last of ${rows.at(-1).text}`);
  await store.close();
} catch (error) {
  console.log(`${error.name}: ${/npm install \w+/.exec(error.message)?.[0] ?? error.message}`);
}
