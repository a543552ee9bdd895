// The shop as a service: `node .build/examples/shop/main.js`, with its configuration in the environment.

import { run } from "signalbox/service";
import { z } from "zod";
import { close } from "./closing.js";
import { shop } from "./shop.js";
import { traceToConsole } from "./traces.js";

/** How long orders may take to be finished when the shop closes. */
const CLOSING_MS = 20_000;
/** How long the tree may take to stop after that. */
const TREE_MS = 10_000;

const number = (least: number, usual: number): z.ZodType<number> =>
  z.coerce.number().int().min(least).default(usual);

const Config = z.object({
  SHOP_JOURNAL: z.string().min(1),
  SHOP_PARTNERS: z.url(),
  SHOP_PORT: number(0, 8080),
  SHOP_LEVELS: z
    .string()
    .default('{"tea":1000000,"pots":1000000,"cups":1000000}')
    .transform((text) => JSON.parse(text) as unknown)
    .pipe(z.record(z.string(), z.int().min(0))),
  SHOP_PICKERS: number(1, 4),
  SHOP_THREADS: number(1, 2),
  SHOP_CHAOS_MS: number(0, 0),
  SHOP_TRACES: z.enum(["off", "console"]).default("off"),
});

const service = run(
  (config, { system, health }) => {
    if (config.SHOP_TRACES === "console") traceToConsole(system);
    return shop(system, {
      journal: config.SHOP_JOURNAL,
      partners: config.SHOP_PARTNERS,
      port: config.SHOP_PORT,
      levels: config.SHOP_LEVELS,
      pickers: config.SHOP_PICKERS,
      threads: config.SHOP_THREADS,
      chaosMs: config.SHOP_CHAOS_MS,
      onKill: (kind) => console.log(`chaos kills a ${kind}`),
      health,
      onOpen: (url) => console.log(`open at ${url}`),
    });
  },
  {
    name: "shop",
    system: { context: "sender" },
    config: { schema: Config, from: process.env },
    onDrain: (): Promise<void> => close(service.system, CLOSING_MS),
    drainTimeoutMs: CLOSING_MS + TREE_MS,
  },
);
const { outcome } = await service.ended;
console.log(`closed: ${outcome}`);
