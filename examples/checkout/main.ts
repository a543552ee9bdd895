// The service: `node .build/examples/checkout/main.js`, with its configuration in the environment.

import { supervisor } from "signalbox";
import { flowHost } from "signalbox/flow";
import { httpServer, run } from "signalbox/service";
import { sqlite } from "signalbox/store";
import { z } from "zod";
import { flowsOf } from "./checkout.js";
import { partnersAt } from "./partners.js";
import { routes } from "./routes.js";

const Config = z.object({
  CHECKOUT_FILE: z.string().min(1),
  CHECKOUT_PARTNERS: z.url(),
  CHECKOUT_PORT: z.coerce.number().int().min(0).default(8080),
});

const service = run(
  (config, { system }) => {
    const flows = flowsOf(partnersAt(config.CHECKOUT_PARTNERS));
    const host = flowHost({ name: "flows", store: sqlite(config.CHECKOUT_FILE), flows: flows.all });
    const door = httpServer(routes(host.at(system, "flows"), flows), {
      port: config.CHECKOUT_PORT,
      host: "127.0.0.1",
      onListening: ({ port }) => console.log(`open at http://127.0.0.1:${port}`),
    });
    return supervisor({
      label: "checkout",
      strategy: "rest_for_one",
      children: [
        { id: "flows", name: "flows", start: host, shutdown: 10_000 },
        { id: "door", start: door },
      ],
    });
  },
  { name: "checkout", config: { schema: Config, from: process.env } },
);
const { outcome } = await service.ended;
console.log(`closed: ${outcome}`);
