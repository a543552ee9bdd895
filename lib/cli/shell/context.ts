// The context of each command on operations: the terminal, the clock, the loader of modules, the printer of results, and the operations.

import { toJson } from "../../admin/json-view.js";
import type { Moments } from "./arguments.js";
import type { Printer } from "./commands.js";
import { indentedJson } from "./json-text.js";
import { type Colour, type Style, styleOf } from "./style.js";

/** The surroundings that a command uses. */
export interface StoreCommandHost extends Printer, Moments {
  /** The width of the terminal; undefined: there is none. */
  readonly columns: number | undefined;
  readonly colours: boolean;
  /** The variable SIGNALBOX_STORE. */
  readonly defaultStore: string | undefined;
  /** An ISO text of a moment in milliseconds since 1970. */
  iso(moment: number): string;
  /** Loads a module: by path from the working folder, or by URL. */
  load(module: string): Promise<object>;
}

/** The context of a command. */
export interface CommandContext<
  Operations,
  Host extends StoreCommandHost = StoreCommandHost,
  Status extends string = never,
  More extends readonly unknown[] = readonly [],
> {
  readonly host: Host;
  readonly style: Style<Status>;
  readonly json: boolean;
  /** Prints one JSON document, or the text. */
  show(value: unknown, text: () => string): void;
  /** The operations. They are opened when they are first asked for. @param more - arguments of the opening @throws Error */
  operations(...more: More): Promise<Operations>;
}

/** Operations that are open. */
export interface Opened<Operations> {
  readonly operations: Operations;
  close(): Promise<void>;
}

/** How the context of a command comes about. */
interface Surroundings<Operations, Host, Status extends string, More extends readonly unknown[]> {
  readonly host: Host;
  readonly json: boolean | undefined;
  /** The colours of the statuses. */
  readonly colours: Readonly<Record<Status, Colour>>;
  open(...more: More): Promise<Opened<Operations>>;
}

/** Runs a command with its context, and closes the operations that it opened. */
export async function inContext<
  Operations,
  Host extends StoreCommandHost,
  Status extends string,
  More extends readonly unknown[],
>(
  { host, json = false, colours, open }: Surroundings<Operations, Host, Status, More>,
  run: (context: CommandContext<Operations, Host, Status, More>) => Promise<number>,
): Promise<number> {
  let opened: Promise<Opened<Operations>> | undefined;
  try {
    return await run({
      host,
      json,
      style: styleOf(host.colours && !json, colours),
      show: (value, text) => host.print(json ? indentedJson(toJson(value)) : text()),
      operations: async (...more) => {
        opened ??= open(...more);
        return (await opened).operations;
      },
    });
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
}
