// The tree of the shop: what is started in which order, and what is stopped last.

import { type SupervisorDefinition, type System, supervisor } from "signalbox";
import { type Health, httpServer, type PoolDefinition, pool, prometheus } from "signalbox/service";
import { Chaos } from "./chaos.js";
import { Desk } from "./desk.js";
import { fulfilments, type Tools } from "./fulfilment.js";
import { Journal } from "./journal.js";
import { BankBreaker, CarrierBreaker, partnersOf } from "./partners.js";
import { patienceOf } from "./patience.js";
import { newPickers, pickingFloor } from "./picking.js";
import { routes } from "./routes.js";
import { type Levels, Stock } from "./stock.js";

export interface ShopOptions {
  /** The file of the journal. */
  readonly journal: string;
  /** Where the bank and the carrier are. */
  readonly partners: string;
  /** Port of the shop; 0 for any. */
  readonly port: number;
  /** What lies on the shelves before the first order. */
  readonly levels: Levels;
  readonly pickers: number;
  readonly threads: number;
  /** Time between two kills; 0 for none. */
  readonly chaosMs: number;
  /** Called with the kind of each process that chaos kills. */
  readonly onKill: (kind: string) => void;
  readonly health: Health;
  /** Called when the door is open. */
  readonly onOpen: (url: string) => void;
}

/** Threads that print labels. The same label may be printed twice, so another thread prints it when one is lost. */
function labelPrinters(size: number): PoolDefinition<typeof import("./label-worker.js")> {
  const file = new URL("./label-worker.js", import.meta.url);
  return pool(file, { label: "labels", size, deadlineMs: 2_000, maxAttempts: 5 });
}

/** A shop under chaos restarts its parts all the time; a real one should give up much sooner. */
const UNDER_CHAOS = { intensity: 1_000, periodMs: 1_000 } as const;

export function shop(system: System, options: ShopOptions): SupervisorDefinition {
  const { levels, pickers: count, chaosMs } = options;
  const Labels = labelPrinters(options.threads);
  const journal = Journal.at(system, "journal");
  const desk = Desk.at(system, "desk");
  const patient = patienceOf(system);
  const pickers = newPickers();
  const tools: Tools = {
    ...{ system, journal, pickers, patient },
    stock: Stock.at(system, "stock"),
    labels: Labels.at(system, "labels"),
    partners: partnersOf(system, options.partners),
  };
  const Fulfilments = fulfilments(tools);
  const Orders = supervisor({
    ...UNDER_CHAOS,
    label: "orders",
    strategy: "rest_for_one",
    children: [
      { id: "fulfilments", name: "fulfilments", start: Fulfilments },
      {
        id: "desk",
        name: "desk",
        start: Desk,
        args: [{ journal, patient, fulfilments: Fulfilments.at(system, "fulfilments") }],
      },
    ],
  });
  const door = httpServer(
    routes({ journal, desk, patient, metrics: prometheus(system), health: options.health }),
    {
      port: options.port,
      host: "127.0.0.1",
      onListening: ({ port }) => options.onOpen(`http://127.0.0.1:${port}`),
    },
  );
  return supervisor({
    ...UNDER_CHAOS,
    label: "shop",
    name: "shop",
    children: [
      { id: "journal", name: "journal", start: Journal, args: [options.journal] },
      { id: "stock", name: "stock", start: Stock, args: [levels, journal] },
      { id: "bank", name: "bank breaker", start: BankBreaker },
      { id: "carrier", name: "carrier breaker", start: CarrierBreaker },
      { id: "labels", name: "labels", start: Labels },
      { id: "picking", start: pickingFloor(count, pickers) },
      { id: "orders", start: Orders },
      { id: "door", start: door },
      { id: "chaos", start: Chaos, args: [system, chaosMs, options.onKill] },
    ],
  });
}
