// The Erlang side: the .erl files beside this one, compiled once, one Erlang node for each program.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** One scheduler, as Node has one thread, and room for the processes. */
export const OTP_FLAGS: readonly string[] = ["+S", "1:1", "+P", "4000000"];

export class Otp {
  readonly version: string;
  private readonly folder: string;

  private constructor(version: string, folder: string) {
    this.version = version;
    this.folder = folder;
  }

  /** Undefined where Erlang is not installed. */
  static find(): Otp | undefined {
    let version: string;
    try {
      version = erl([], 'io:format("~s", [erlang:system_info(otp_release)])');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
    // Exporting everything lets each program run in a node of its own, with the file as it is.
    const files = [
      "otp_bench.erl",
      "otp_nodes.erl",
      "otp_server.erl",
      "otp_statem.erl",
      "otp_supervisor.erl",
    ].map(sourceFile);
    execFileSync("erlc", ["+export_all", "+nowarn_export_all", "-o", folder, ...files], {
      stdio: "inherit",
    });
    return new Otp(version, folder);
  }

  /** Runs one expression, a call of `otp_bench:rate` or the like, and gives the figure it printed. */
  run(expression: string): number {
    const line = erl([...OTP_FLAGS, ...distribution(), "-pa", this.folder], expression);
    const { ops_per_s, bytes, ns, us } = JSON.parse(line) as Readonly<Record<string, number | undefined>>;
    const figure = ops_per_s ?? bytes ?? ns ?? us;
    if (figure === undefined) throw new Error(`otp_bench printed no figure: ${line}`);
    return figure;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** For programs of two nodes: a port of their own in place of epmd. The addresses 127.0.0.1 and 127.0.0.2 share it. */
function distribution(): string[] {
  return ["-start_epmd", "false", "-erl_epmd_port", String(FIRST_PORT + (process.pid % PORTS))];
}

/** Below the ports that the system gives away. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;

function erl(flags: readonly string[], expression: string): string {
  const args = ["-noshell", ...flags, "-eval", `${expression}, halt(0).`];
  return execFileSync("erl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

/** The compiled benchmarks run from another folder than their sources: look in the package, wherever this file is. */
function sourceFile(name: string): string {
  for (let folder = new URL(".", import.meta.url); ; folder = new URL("..", folder)) {
    const file = fileURLToPath(new URL(`spec/bench/${name}`, folder));
    if (existsSync(file)) return file;
    if (folder.pathname === "/") throw new Error(`spec/bench/${name} is not there`);
  }
}
