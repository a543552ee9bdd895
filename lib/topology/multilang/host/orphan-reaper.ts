// Ends the children of this program after the program itself was killed. A shell reads a pipe from this program and
// outlives the program by a second: when SIGKILL ends the program, the pipe ends, and the shell ends the children. The end
// of a child's own input is not enough, because a child that hangs does not read its input.
//
// Each line of the pipe is `+ group directory` or `- group directory` of one child. The group is 0 until the child has
// started. POSIX only: elsewhere, or without /bin/sh, children that hang outlive a host that is killed.

import type { ChildProcess } from "node:child_process";
import { node, optionalModule } from "../../../process/node-modules.js";

/** Name of an environment variable. Its value, a directory, marks a child and its descendants, in any process group. */
export const MARK = "SIGNALBOX_CHILD";

export const hasGroups: boolean = optionalModule("node:process")?.platform !== "win32";

/** Reapers started in place of one that was ended, or that could not be started. */
const MAX_REPLACED = 10;

/**
 * Ends each child by SIGTERM, and after a second by SIGKILL. Where there is /proc, the mark finds descendants that left
 * the group, and a child that was started just as this program ended. Only directories with a name of ours are removed.
 */
const SCRIPT = `
trap '' HUP INT TERM
all='|'
while read -r op group directory; do
  case $op in
    +) all="$all$group $directory|" ;;
    -) one="|$group $directory|"
       case $all in *"$one"*) all="\${all%%"$one"*}|\${all#*"$one"}" ;; esac ;;
  esac
done
[ "$all" = '|' ] && exit 0
each() {
  for one in $all; do
    [ -n "$one" ] && $1 "\${one%% *}" "\${one#* }"
  done
}
end() { [ "$1" = 0 ] || kill -s TERM -- "-$1"; }
finish() {
  [ "$1" = 0 ] || kill -s KILL -- "-$1"
  grep -lF -- "${MARK}=$2" /proc/[0-9]*/environ | while IFS=/ read -r _ _ process _; do kill -s KILL "$process"; done
  case $2 in */signalbox-??????) rm -rf -- "$2" ;; esac
}
IFS='|'
set -f
each end
sleep 1
set +f
each finish
`;

/** Groups and directories of all children, each as a line for the reaper. */
const registered = new Set<string>();
let reaper: ChildProcess | undefined;
let lost = 0;

/** From now on a child with this directory ends with this program. @param group - 0 before the child is started */
export function registerChild(group: number, directory: string): void {
  if (!hasGroups || /[|\n]/.test(directory)) return;
  const line = `${group} ${directory}\n`;
  registered.add(line);
  if (reaper === undefined) start();
  else send(`+ ${line}`);
}

/** The child and its descendants are gone. */
export function unregisterChild(group: number, directory: string): void {
  const line = `${group} ${directory}\n`;
  if (!registered.delete(line)) return;
  send(`- ${line}`);
  if (registered.size > 0) return;
  reaper?.stdin?.end();
  reaper = undefined;
}

function start(): void {
  if (lost > MAX_REPLACED) return;
  const one = node.childProcess.spawn("/bin/sh", ["-c", SCRIPT, "signalbox-reaper"], {
    stdio: ["pipe", "ignore", "ignore"],
    // Signals from a terminal must not reach the reaper, and the reaper must not bear another child's mark.
    detached: true,
    env: { PATH: node.process.env.PATH ?? "/usr/bin:/bin" },
    cwd: "/",
  });
  reaper = one;
  const over = (): void => {
    if (reaper !== one) return;
    reaper = undefined;
    lost++;
    if (registered.size > 0) start();
  };
  one.on("error", over);
  one.on("exit", over);
  one.stdin?.on("error", () => undefined);
  one.unref();
  (one.stdin as { unref?: () => void } | null)?.unref?.();
  for (const line of registered) send(`+ ${line}`);
}

function send(line: string): void {
  reaper?.stdin?.write(line);
}
