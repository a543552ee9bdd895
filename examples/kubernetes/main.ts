import { run } from "signalbox/service";
import { postgres } from "signalbox/store";
import { shop } from "./shop.js";

run(
  (_config, service) => {
    const store = postgres(process.env.DATABASE_URL ?? "postgres://localhost/shop");
    return shop(service, store, { http: 8080, ops: 9000 });
  },
  { name: "shop", drainTimeoutMs: 25_000 },
);
