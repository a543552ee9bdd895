// The clients of http.ts: `http-load.js PORT COUNT` sends so many requests on kept connections, and prints what came back.

import autocannon from "autocannon";
import type { Answers } from "./http.js";

const CONNECTIONS = 32;

const [port, count] = process.argv.slice(2).map(Number);
const { "2xx": complete } = await autocannon({
  url: `http://127.0.0.1:${port}`,
  connections: CONNECTIONS,
  amount: count ?? 0,
});
process.stdout.write(JSON.stringify({ complete } satisfies Answers));
