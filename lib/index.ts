/**
 * signalbox: processes with links and exit signals, supervisor trees, servers, state machines, tasks and dispatch conversations.
 *
 *     process/      floor 1: pids, mailboxes, links, monitors, exit signals, calls, timers, names, groups, scheduler
 *                   context.ts holds the operations of a process, kernel.ts its start and end, production.ts the host
 *     graph/        floor 1: graphs as DOT and Mermaid
 *     behaviour/    floor 2: servers, whose messages are calls and casts with inferred types; state machines;
 *                   tasks and streams of tasks; registries
 *     supervisor/   floor 2: restart-rule.ts decides on a restart, one file for each strategy on its siblings;
 *                   supervisor-machine.ts orders starts and stops, supervisor-process.ts performs them
 *     dispatch/     floor 3: consumer groups, routing functions, and a conversation for each dispatch
 *     store/        signalbox/store: durable tables in memory, SQLite and PostgreSQL; group commit, claims, SQL
 *     system.ts     the System that puts them together
 *     topology/     signalbox/topology: spouts, bolts and ackers
 *     admin/        the socket beside a SQLite file: its protocol, its server, and who answers at it
 *     host/         what durable hosts share: evidence of who ran when a program died
 *     node/         signalbox/nodes: several systems as one, over NATS; leases and singletons
 *     flow/         signalbox/flow: durable flows over a store: journal, machine, host, hospital, queues, schedules, sessions
 *     service/      signalbox/service: a whole service around a tree: run, health, HTTP, pools, protection, telemetry
 *     pipeline/     signalbox/pipeline: queues, routes and adapters whose executions know when they are done; durable queues
 *     otel/         signalbox/otel: telemetry as OpenTelemetry's traces and metrics
 *     xstate/       signalbox/xstate: XState's machines as processes
 *     testing/      signalbox/testing: the simulator
 *     observer/     signalbox/observer: a web page that shows a running system
 *     cli/          the command `signalbox`
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
