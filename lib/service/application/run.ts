// Running a tree as a whole service.

import { OptionError } from "../../process/errors.js";
import { isStartable, type Startable } from "../../process/start.js";
import { type ConfigOf, readConfiguration, type StandardSchema } from "./configuration.js";
import { checkOptions, type RunOptions } from "./options.js";
import { Service } from "./service.js";

/** The arguments of a tree's `init`. */
export interface TreeArguments<Args extends readonly unknown[]> {
  /** Arguments of the tree's `init`. */
  readonly args: Readonly<Args>;
}

/** The options of `run` for a tree; with the arguments, if its `init` takes any. */
export type RunArguments<Args extends readonly unknown[]> =
  readonly [] extends Readonly<Args>
    ? [options?: RunOptions<undefined> & Partial<TreeArguments<Args>>]
    : [options: RunOptions<undefined> & TreeArguments<Args>];

/**
 * Runs a supervision tree as a service: checks its configuration, starts the tree, stops it in order at SIGTERM and SIGINT, and ends
 * the Node process with an exit code that says why ({@link EXIT_CODES}).
 *
 * A service keeps the Node process running until it ends. It ends on request (a signal, `service.stop()`, an
 * AbortSignal), when its root ends, when its start fails, and at an error that belongs to no process. At a stop it is not ready any
 * more, goes on for `drainDelayMs`, runs `onDrain`, stops the tree in its order, writes its reports, and ends. All this takes at most
 * `drainTimeoutMs`; then what is left is killed. A second signal kills at once.
 *
 * Nothing can be promised when the Node process is killed by SIGKILL, or runs out of memory: no code runs then.
 *
 * @param tree - a supervisor or another definition; or a function that gets the configuration and the service, and returns one
 * @returns the handle of the service, at once; its promises `started` and `ended` say more
 * @throws OptionError when an option is not what it has to be
 * @example
 * const service = run(Shop, { name: "shop", drainDelayMs: 5_000 });
 * const { outcome } = await service.ended;
 */
export function run<Args extends readonly unknown[], Ref>(
  tree: Startable<Args, Ref>,
  ...options: RunArguments<Args>
): Service<Ref>;
export function run<Ref, Schema extends StandardSchema | undefined = undefined>(
  tree: (
    config: ConfigOf<Schema>,
    service: Service<unknown>,
  ) => Startable<readonly [], Ref> | Promise<Startable<readonly [], Ref>>,
  options?: RunOptions<Schema>,
): Service<Ref>;
export function run(tree: unknown, ...given: readonly unknown[]): Service<unknown> {
  const options = (given[0] === undefined ? {} : given[0]) as RunOptions &
    Partial<TreeArguments<readonly unknown[]>>;
  if (typeof tree !== "function" && !isStartable(tree))
    throw new OptionError("tree", tree, "a supervisor or server definition, or a function that returns one");
  const settings = checkOptions(options);
  const { args = [] } = options;
  if (!Array.isArray(args)) throw new OptionError("args", args, "an array of arguments");
  const { config, cluster } = settings;
  return new Service(settings, args, async (service, join) => {
    const read = config === undefined ? undefined : await readConfiguration(config);
    if (cluster !== undefined) await join(typeof cluster === "function" ? await cluster(read) : cluster);
    const made: unknown = typeof tree === "function" ? await tree(read, service) : tree;
    if (isStartable(made)) return made;
    throw new OptionError("tree", made, "a function that returns a supervisor or server definition");
  });
}
