// What the program itself can ask of a system: the operations of every durable host in it, with or without an admin socket, and those on the
// system. An observer in the process looks here. The admin socket of a service offers the same to commands.
//
// Behind the socket of a store's file all hosts have one store. Here hosts of several stores may offer the same, so requests have one more
// argument: `store`.

import type { Kernel } from "../../process/kernel.js";
import { type AdminService, operationsIn } from "../post.js";
import type { AdminOperation, AdminOperations } from "../protocol.js";
import { systemService } from "./system-table.js";

/** Where a host offers its operations. */
export interface OfferPlace {
  /** The label of its store, such as `sqlite orders.db`. Two stores in memory with the same label cannot be distinguished. */
  readonly store: string;
  /** False: to its program alone, since its options say that it has no socket. */
  readonly atSockets: boolean;
}

interface Offered {
  readonly service: AdminService;
  readonly place: OfferPlace;
}

interface SystemOffers {
  /** In the order in which their stores were first seen, and of one store in the order of their starts: a restart changes no place. */
  readonly hosts: Offered[];
  /** The places of stores, by their labels. Those of stores without a host are kept for their next one. */
  readonly places: Map<string, number>;
  nextPlace: number;
  /** Made when they are first asked for. */
  program: AdminOperations | undefined;
  socket: AdminOperations | undefined;
}

/** Stores whose places are remembered while they have no host. */
const MOST_PLACES = 256;

/** Offers last as long as the systems of their hosts. */
const offers = new WeakMap<Kernel, SystemOffers>();

function offersOf(kernel: Kernel): SystemOffers {
  const before = offers.get(kernel);
  if (before !== undefined) return before;
  const made: SystemOffers = {
    ...{ hosts: [], places: new Map(), nextPlace: 0 },
    ...{ program: undefined, socket: undefined },
  };
  offers.set(kernel, made);
  return made;
}

/** Offers the operations of a host, until the call that it gives. */
export function offer(kernel: Kernel, service: AdminService, place: OfferPlace): () => void {
  const offers = offersOf(kernel);
  const { hosts } = offers;
  const offered: Offered = { service: ofStore(service, place.store), place };
  const at = placeOf(offers, place.store);
  const behind = hosts.findIndex((one) => placeOf(offers, one.place.store) > at);
  hosts.splice(behind < 0 ? hosts.length : behind, 0, offered);
  return () => {
    const now = hosts.indexOf(offered);
    if (now >= 0) hosts.splice(now, 1);
  };
}

/** The place of a store among those of the system. */
function placeOf(offers: SystemOffers, store: string): number {
  const { hosts, places } = offers;
  const known = places.get(store);
  if (known !== undefined) return known;
  if (places.size >= MOST_PLACES) {
    const used = new Set(hosts.map((one) => one.place.store));
    for (const label of [...places.keys()]) if (!used.has(label)) places.delete(label);
  }
  places.set(store, offers.nextPlace);
  return offers.nextPlace++;
}

/** Offers the operations of a host as long as it lives. @param alive - aborts when it ends */
export function offerWhile(
  alive: AbortSignal,
  kernel: Kernel,
  service: AdminService,
  place: OfferPlace,
): void {
  if (alive.aborted) return;
  alive.addEventListener("abort", offer(kernel, service, place), { once: true });
}

/**
 * The operations of all hosts in a system, as they are at each question, and those on the system. Of several hosts of one kind, `chosenOf` finds
 * the one that a request means; each has its store in what `find` gives.
 *
 * @param where - `socket`: without hosts whose options say that they have no socket
 */
export function offeredBy(kernel: Kernel, where: "program" | "socket" = "program"): AdminOperations {
  const all = offersOf(kernel);
  const known = all[where];
  if (known !== undefined) return known;
  const system = systemService(kernel);
  const isMeant = ({ atSockets }: OfferPlace): boolean => atSockets || where === "program";
  const made = operationsIn(() => [
    ...all.hosts.filter(({ place }) => isMeant(place)).map(({ service }) => service),
    system,
  ]);
  all[where] = made;
  return made;
}

/** The operations of a service, with the argument that says which store is meant. */
function ofStore(service: AdminService, store: string): AdminService {
  const operations = new Map<string, AdminOperation>();
  for (const [op, operation] of service.operations)
    operations.set(op, { ...operation, args: [...operation.args, "store"], store });
  return { ...service, operations };
}
