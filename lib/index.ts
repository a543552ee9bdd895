/**
 * signalbox: processes with links and exit signals, supervisor trees, servers and dispatch conversations.
 *
 *     process/      floor 1: pids, mailboxes, links, monitors, exit signals, calls, timers, names, groups, scheduler
 *                   context.ts is what a process can do, kernel.ts how one lives and dies, production.ts the host
 *     behaviour/    floor 2: servers, whose messages are calls and casts with inferred types
 *     supervisor/   floor 2: supervisor-machine.ts decides, supervisor.ts carries out; one file for each strategy
 *     dispatch/     floor 3: consumer groups, routing functions, and a conversation for each dispatch
 *     system.ts     the System that puts them together
 *     topology/, testing/    entries of their own: signalbox/topology, signalbox/testing
 *
 * A floor imports only from floors below it. The guarantees are numbered in docs/semantics.md.
 *
 * @example
 * await using system = new System({ name: "shop" });
 * const Till = defineServer({
 *   init: (_ctx, float: number) => ({ cash: float }),
 *   calls: { pay: (state, amount: number) => (state.cash += amount) },
 * });
 * const clerks = new ConsumerGroup<number>({ name: "clerks", patienceMs: 1_000 });
 * const clerk = consumer((amount: number) => Till.at(system, "till").call.pay(amount), { group: clerks });
 * const Shop = supervisor({
 *   children: [
 *     { id: "till", name: "till", start: Till, args: [50] },
 *     { id: "clerk", start: clerk },
 *   ],
 * });
 * await system.start(Shop);
 * const { reply, reroutedFrom } = await system.dispatch(clerks, 7); // 57, or an error that says who was tried
 * console.log(reply, reroutedFrom);
 */

export * from "./behaviour/index.js";
export * from "./dispatch/index.js";
export * from "./process/index.js";
export * from "./supervisor/index.js";
export { System } from "./system.js";
