// A command as a terminal has it, with what it prints kept.

import { files, terminal } from "../../../lib/cli/shell/host.js";

export interface Ran {
  readonly code: number;
  readonly printed: string;
  readonly complaints: string;
}

/** The part of a host that all commands share. */
type Shared = typeof files & ReturnType<typeof terminal>;
/** The other part of it, and what differs from this program's own terminal. */
type Own<Host> = Omit<Host, keyof Shared> & Partial<Host>;

/** Runs a command on a terminal without a width, colours or variables. @param host - gets the call that prints complaints */
export async function ran<Host>(
  command: (args: readonly string[], host: Host) => Promise<number>,
  args: readonly string[],
  host: (complain: (text: string) => void) => Own<Host>,
): Promise<Ran> {
  const [printed, complaints] = [[] as string[], [] as string[]];
  const complain = (text: string): void => void complaints.push(text);
  const shared: Shared = {
    ...files,
    ...terminal(),
    ...{ columns: undefined, colours: false, defaultStore: undefined, env: {} },
    print: (text) => void printed.push(text),
    complain,
  };
  const code = await command(args, { ...shared, ...host(complain) } as unknown as Host);
  return { code, printed: printed.join("\n"), complaints: complaints.join("\n") };
}
