// What outlives this program by a second, so that its children do not outlive it: a shell that reads a pipe. A program
// that is killed by SIGKILL can do nothing any more, but the pipe ends, and the shell ends what is left. A child that
// hangs does not look at its own input, so the end of that is not enough.
//
// Each line that it reads is `+ group directory` or `- group directory`, of one child; the group is 0 as long as the
// child has none. POSIX only: elsewhere, or without /bin/sh, children that hang outlive a host that is killed.

import type { ChildProcess } from "node:child_process";
import { node, optionalModule } from "../../../process/node-modules.js";

/** By its value, a directory, a process is known as a child or as a descendant of one, whatever group it is in. */
export const MARK = "SIGNALBOX_CHILD";

export const hasGroups: boolean = optionalModule("node:process")?.platform !== "win32";

/** Watchers that one program starts in place of those that somebody ended, or that could not be started. */
const MOST_REPLACED = 10;

/**
 * The end: SIGTERM, a second, SIGKILL. What left its group is found by its mark where there is /proc; so is a child that
 * was started in the instant in which this program ended. Only directories that look like ours are removed.
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

/** Groups and directories of the children there are, each as a line for the watcher. */
const watched = new Set<string>();
let watcher: ChildProcess | undefined;
let lost = 0;

/** From now on a child with this directory ends when this program does. @param group - 0 before the child is started */
export function registerChild(group: number, directory: string): void {
  if (!hasGroups || /[|\n]/.test(directory)) return;
  const line = `${group} ${directory}\n`;
  watched.add(line);
  if (watcher === undefined) start();
  else tell(`+ ${line}`);
}

/** The child is gone, and all that it had started. */
export function unregisterChild(group: number, directory: string): void {
  const line = `${group} ${directory}\n`;
  if (!watched.delete(line)) return;
  tell(`- ${line}`);
  if (watched.size > 0) return;
  watcher?.stdin?.end();
  watcher = undefined;
}

function start(): void {
  if (lost > MOST_REPLACED) return;
  const one = node.childProcess.spawn("/bin/sh", ["-c", SCRIPT, "signalbox-watcher"], {
    stdio: ["pipe", "ignore", "ignore"],
    // Signals from a terminal are for this program alone; and it is to be no descendant that others know by their mark.
    detached: true,
    env: { PATH: node.process.env.PATH ?? "/usr/bin:/bin" },
    cwd: "/",
  });
  watcher = one;
  const over = (): void => {
    if (watcher !== one) return;
    watcher = undefined;
    lost++;
    if (watched.size > 0) start();
  };
  one.on("error", over);
  one.on("exit", over);
  one.stdin?.on("error", () => undefined);
  one.unref();
  (one.stdin as { unref?: () => void } | null)?.unref?.();
  for (const line of watched) tell(`+ ${line}`);
}

function tell(line: string): void {
  watcher?.stdin?.write(line);
}
