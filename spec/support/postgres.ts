// A PostgreSQL server for tests: its own data folder, a Unix socket and no TCP. The server refuses to run as root, so root starts
// it as the user `postgres` or `nobody`.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe } from "vitest";
import { until } from "./until.js";

/** What {@link startPostgres} is given. */
export interface PostgresOptions {
  /** Whether commits survive a loss of power and a killed server. Off is faster. Default off. */
  readonly fsync?: boolean;
  /** Further settings of the server, such as `{ max_connections: "20" }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Where a server is, in the words of `pg`. */
export interface PostgresConnection {
  /** The folder of the socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** A server that runs until `stop`. */
export interface PostgresServer extends AsyncDisposable {
  readonly connection: PostgresConnection;
  /** The same as a connection string. */
  readonly url: string;
  /** The path of the Unix socket. */
  readonly socket: string;
  /** The process id of the postmaster. */
  readonly pid: number;
  /** Starts a server that was killed or shut down. Resolves when it takes connections. */
  start(): Promise<void>;
  /** Shuts down as an administrator does (fast: open transactions end with 57P01), and resolves when it has. */
  shutDown(): Promise<void>;
  /** `shutDown`, then `start`. */
  restart(): Promise<void>;
  /** SIGKILL for all processes of the server, as if the machine had died. `start` recovers it. */
  kill(): Promise<void>;
  /** Kills it and removes its data. */
  stop(): Promise<void>;
}

const PORT = 5432;
/** What `initdb` makes. */
const INITIAL = ["-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
const PROGRAMS = ["postgres", "initdb"];
const BASE_BACKUP = "pg_basebackup";

/** The folder with these programs of a server, the newest if there are several. */
function programs(wanted: readonly string[] = PROGRAMS): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existing(debian).sort((a, b) => Number(b) - Number(a));
  const folders = [
    ...(process.env.PATH ?? "").split(delimiter),
    ...versions.map((version) => join(debian, version, "bin")),
  ];
  return folders.find((folder) => wanted.every((name) => isProgram(join(folder, name))));
}

function existing(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Whom the server runs as: undefined for the user of this process. */
function serverUser(): User | undefined | "none" {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = ["postgres", "nobody"].map((name) => users.find((user) => user[0] === name));
  const user = found.find((one) => one !== undefined);
  return user === undefined ? "none" : { uid: Number(user[2]), gid: Number(user[3]) };
}

/** Why there can be no server here. Undefined: there can. */
export const noPostgres: string | undefined =
  process.platform === "win32"
    ? "no Unix sockets"
    : programs() === undefined
      ? "no PostgreSQL on this machine (Debian: apt-get install postgresql)"
      : serverUser() === "none"
        ? "root cannot run PostgreSQL, and there is no user postgres or nobody"
        : undefined;

/** As `describe`, for tests that need a server. Where there is none they are skipped, and the title says why. */
export function describePostgres(title: string, tests: () => void): void {
  if (noPostgres === undefined) describe(title, tests);
  else describe.skip(`${title} [skipped: ${noPostgres}]`, tests);
}

/** Starts a new, empty server. @throws Error where there is none; see {@link noPostgres} */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const bin = programs();
  if (noPostgres !== undefined || bin === undefined) throw new Error(noPostgres);
  return started(options, (data, as) => {
    const made = template(bin);
    if (existsSync(made)) {
      copyData(made, data);
      return;
    }
    execFileSync(join(bin, "initdb"), ["-D", data, ...INITIAL], { ...as, stdio: "pipe" });
    keepTemplate(data, made);
  });
}

/** The data of a new server, for all servers of these programs and this user that follow: a copy takes a fifth of what initdb does. */
function template(bin: string): string {
  const build = fileURLToPath(new URL("../../.build", import.meta.url));
  const user = serverUser();
  const uid = user === undefined || user === "none" ? process.getuid?.() : user.uid;
  const made = createHash("sha256").update(JSON.stringify([bin, uid, INITIAL]));
  return join(build, `postgres-${made.digest("hex").slice(0, 16)}`);
}

/** With owners and modes, which the server insists on. */
const copyData = (from: string, to: string): void => {
  execFileSync("cp", ["-a", from, to], { stdio: "pipe" });
};

/** Other processes see all of it, or nothing; the first of several keeps its own. */
function keepTemplate(data: string, made: string): void {
  mkdirSync(dirname(made), { recursive: true });
  const copy = `${made}.${process.pid}`;
  copyData(data, copy);
  try {
    renameSync(copy, made);
  } catch {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Why there can be no standby here. Undefined: there can. */
export const noStandby: string | undefined =
  noPostgres ?? (programs([BASE_BACKUP]) === undefined ? `no ${BASE_BACKUP} on this machine` : undefined);

/** Starts a hot standby of a server: a copy that follows it and only reads, until it is promoted by `pg_promote()`. */
export async function startStandby({ connection }: PostgresServer): Promise<PostgresServer> {
  const bin = programs([BASE_BACKUP]);
  if (noStandby !== undefined || bin === undefined) throw new Error(noStandby);
  const from = ["-h", connection.host, "-p", String(connection.port), "-U", connection.user];
  return started({}, (data, as) => {
    const copy = [...from, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync"];
    execFileSync(join(bin, BASE_BACKUP), copy, { ...as, stdio: "pipe" });
  });
}

/** As whom, where and in which environment the programs of a server run. */
interface RunAs extends Partial<User> {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Longest path of a Unix socket, in bytes. */
const LONGEST_SOCKET = 107;
const ROOM_FOR_NAMES = "/signalbox-pg-123456/.s.PGSQL.5432".length;
const EVERYBODY_ENTERS = 0o001;

/** The folder for temporary files, if the server's user can enter it and a socket in it has a path of a length that is allowed. */
function placeFor(user: User | undefined): string {
  const folder = tmpdir();
  if (folder.length + ROOM_FOR_NAMES > LONGEST_SOCKET) return "/tmp";
  for (let path = folder; user !== undefined && path !== dirname(path); path = dirname(path))
    if ((statSync(path).mode & EVERYBODY_ENTERS) === 0) return "/tmp";
  return folder;
}

/** A server in a folder of its own. @param fill - makes its data */
async function started(
  options: PostgresOptions,
  fill: (data: string, as: RunAs) => void,
): Promise<PostgresServer> {
  const bin = programs();
  const user = serverUser();
  if (noPostgres !== undefined || bin === undefined || user === "none") throw new Error(noPostgres);
  const folder = mkdtempSync(join(placeFor(user), "signalbox-pg-"));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const as: RunAs = { cwd: folder, ...user, env: { LC_ALL: "C", PATH: process.env.PATH } };
  const data = join(folder, "data");
  fill(data, as);
  const settings = {
    listen_addresses: "",
    unix_socket_directories: folder,
    shared_buffers: "64MB",
    fsync: options.fsync === true ? "on" : "off",
    full_page_writes: options.fsync === true ? "on" : "off",
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = new Server(folder, () =>
    spawn(join(bin, "postgres"), ["-D", data, "-p", String(PORT), ...flags], {
      ...as,
      stdio: ["ignore", "ignore", "pipe"],
    }),
  );
  await server.start();
  return server;
}

class Server implements PostgresServer {
  readonly connection: PostgresConnection;
  readonly url: string;
  readonly socket: string;
  readonly #folder: string;
  readonly #spawn: () => ChildProcess;
  readonly #exit: () => void;
  #child: ChildProcess | undefined;

  constructor(folder: string, spawnServer: () => ChildProcess) {
    this.#folder = folder;
    this.#spawn = spawnServer;
    this.connection = { host: folder, port: PORT, user: "test", database: "postgres" };
    this.url = `postgres://test@/postgres?host=${encodeURIComponent(folder)}&port=${PORT}`;
    this.socket = join(folder, `.s.PGSQL.${PORT}`);
    this.#exit = () => {
      this.#signalAll();
      rmSync(this.#folder, { recursive: true, force: true });
    };
    process.once("exit", this.#exit);
  }

  get pid(): number {
    return this.#child?.pid as number;
  }

  async start(): Promise<void> {
    const child = this.#spawn();
    this.#child = child;
    let log = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on("data", (chunk: Buffer) => {
        // Read to the end of the server's life, or the pipe would fill and stop it.
        if (log.length < 100_000) log += chunk.toString();
        if (/ready to accept (read-only )?connections/.test(log)) resolve();
      });
      child.once("error", reject);
      child.once("close", (code) => reject(new Error(`the server ended with ${code}:\n${log}`)));
    });
  }

  async shutDown(): Promise<void> {
    const ended = this.#ended();
    this.#child?.kill("SIGINT");
    await ended;
  }

  async restart(): Promise<void> {
    await this.shutDown();
    await this.start();
  }

  async kill(): Promise<void> {
    const ended = this.#ended();
    const pids = this.#signalAll();
    await ended;
    // Shared memory is free, and the data folder can be opened again, once the last process has gone.
    await until(() => !pids.some(isAlive));
  }

  async stop(): Promise<void> {
    await this.kill();
    process.off("exit", this.#exit);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #ended(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
    return new Promise((resolve) => child.once("close", () => resolve()));
  }

  /** SIGKILL for the postmaster and its children, each of which is a process group of its own. */
  #signalAll(): number[] {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return [];
    // Stopped, the postmaster starts no further children while they are listed.
    child.kill("SIGSTOP");
    const pids = [child.pid, ...childrenOf(child.pid)];
    for (const pid of pids)
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    return pids;
  }
}

function childrenOf(parent: number): number[] {
  return existing("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent);
}

/** Undefined for a process that has ended, zombies included. */
function parentOf(pid: number): number | undefined {
  try {
    // The name of the program stands in brackets and may contain anything; state and parent follow it.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return state === "Z" ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  return parentOf(pid) !== undefined;
}
