// The Unix socket of a program, mostly beside a SQLite file, as `flows.db.sock`: its place, its opening, and the socket that a killed
// program left behind.
// The only file of this room that reaches Node.
//
// The socket is made in a directory of its own that no other user may enter, gets its mode there, and is then moved to its name. So
// other users can never open it, not for a moment, and it replaces the socket of a killed host in one step. A path that is too
// long for a socket gets a symbolic link to a socket in the directory for temporary files.

import type { Server, Socket } from "node:net";
import { OptionError } from "../process/errors.js";
import { node, optionalModule } from "../process/node-modules.js";
import { AdminSocketError } from "./errors.js";

export type { Socket };

/** Most bytes of the path of a Unix socket: 104 with its end on macOS, 108 on Linux. */
const MAX_PATH_BYTES = 103;
/** The directories in which sockets are made. */
const PREFIX = "signalbox-";
const NAME = "sock";
/** Stands for the six characters that mkdtemp puts behind the name of a directory. */
const SUFFIX = "XXXXXX";

/** Whether this host has Unix sockets beside files. */
export function hasUnixSockets(): boolean {
  return optionalModule("node:net") !== undefined && node.process.platform !== "win32";
}

/** The path of the admin socket of the host that holds a SQLite file. */
export function socketPathOf(file: string): string {
  return `${node.path.resolve(file)}.sock`;
}

/** The path of the socket that the options of a host ask for. Undefined: it has none. @throws OptionError */
export function socketOf(options: {
  readonly socket?: string | boolean | undefined;
  readonly store?: { readonly file?: string } | undefined;
}): string | undefined {
  if (typeof options !== "object" || options === null) throw new OptionError("options", options, "an object");
  const { socket = true, store } = options;
  if (typeof socket === "string" && socket !== "") return socket;
  if (typeof socket !== "boolean") throw new OptionError("socket", socket, "a path, true or false");
  return socket && store?.file !== undefined && hasUnixSockets() ? socketPathOf(store.file) : undefined;
}

/** The path to connect to: the socket itself, or the target of the link at its place. Undefined: there is none. */
export function socketTarget(path: string): string | undefined {
  const found = node.fs.lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isSymbolicLink()) return node.fs.readlinkSync(path);
  return found.isSocket() ? path : undefined;
}

/** A socket that is open. */
export interface OpenSocket {
  /** Accepts no more connections, and removes the socket if it is still this one. */
  close(): void;
}

/**
 * Opens the socket at a path. A socket without a listener is replaced.
 *
 * @throws AdminSocketError
 */
export async function openSocket(path: string, accept: (socket: Socket) => void): Promise<OpenSocket> {
  try {
    await clear(path);
    const server = node.net.createServer({ allowHalfOpen: true, pauseOnConnect: false }, accept);
    await place(server, path, homeOf(path));
    const own = identity(path);
    return { close: () => closeSocket(server, path, own) };
  } catch (error) {
    throw error instanceof AdminSocketError
      ? error
      : new AdminSocketError(path, (error as Error).message, error);
  }
}

/** Listens at a socket in its home, and moves that to its place. */
async function place(server: Server, path: string, home: string): Promise<void> {
  const made = node.path.join(home, NAME);
  try {
    await listening(server, made);
    node.fs.chmodSync(made, 0o600);
    const inPlace = fits(path) && node.path.dirname(home) === node.path.dirname(path);
    if (inPlace) node.fs.renameSync(made, path);
    else link(made, path);
    if (inPlace) node.fs.rmdirSync(home);
  } catch (error) {
    server.close();
    node.fs.rmSync(home, { recursive: true, force: true });
    throw error;
  }
}

/** Identifies the file at a path. Numbers of inodes are used again. */
function identity(path: string): string | undefined {
  const found = node.fs.lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev} ${found.ino} ${found.ctimeNs}`;
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_PATH_BYTES;
}

/** A new directory for the socket, that only its owner may enter. @throws AdminSocketError */
function homeOf(path: string): string {
  const beside = node.path.join(node.path.dirname(path), `.${PREFIX}`);
  const fitsIn = (parent: string): boolean => fits(`${parent}${SUFFIX}/${NAME}`);
  const parent = fits(path) && fitsIn(beside) ? beside : node.path.join(node.os.tmpdir(), PREFIX);
  if (!fitsIn(parent))
    throw new AdminSocketError(
      path,
      "its path is too long, and that of the directory for temporary files is, too",
    );
  return node.fs.mkdtempSync(parent);
}

function link(made: string, path: string): void {
  const draft = `${made}.link`;
  node.fs.symlinkSync(made, draft);
  // Across file systems a link cannot be moved.
  try {
    node.fs.renameSync(draft, path);
  } catch {
    node.fs.rmSync(draft, { force: true });
    node.fs.symlinkSync(made, path);
  }
}

/** Removes the socket that a killed host has left at a path. @throws AdminSocketError when a host listens there, or it is no socket */
async function clear(path: string): Promise<void> {
  const found = node.fs.lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  const target = socketTarget(path);
  if (target === undefined)
    throw new AdminSocketError(path, "there is a file of this name that is no socket");
  if (await answers(target))
    throw new AdminSocketError(
      path,
      "another program listens there; stop it, or give this one another `socket`",
    );
  node.fs.rmSync(path, { force: true });
  if (found.isSymbolicLink()) removeHome(target);
}

/** Removes a directory that homeOf has made. */
function removeHome(target: string): void {
  const home = node.path.dirname(target);
  if (node.path.basename(target) !== NAME || !node.path.basename(home).startsWith(PREFIX)) return;
  node.fs.rmSync(target, { force: true });
  node.fs.rmSync(`${target}.link`, { force: true });
  try {
    node.fs.rmdirSync(home);
  } catch {
    // Gone already, or it holds something else.
  }
}

/** Whether the socket has a listener. */
function answers(target: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = node.net.connect(target);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    // A busy listener refuses connections for other reasons.
    socket.once("error", ({ code }: Error & { code?: string }) =>
      resolve(code !== "ECONNREFUSED" && code !== "ENOENT"),
    );
  });
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function closeSocket(server: Server, path: string, own: string | undefined): void {
  // Node removes the path at which the socket was made, if it is still there.
  server.close();
  if (own === undefined || identity(path) !== own) return;
  const target = socketTarget(path);
  node.fs.rmSync(path, { force: true });
  if (target !== undefined && target !== path) removeHome(target);
}
