// Programs of tests end with the process that started them.

/**
 * Code for the begin of a program: it ends when its standard input does, if that is a pipe. The other end of the pipe closes with the
 * process that started it, whether that fails, is killed, or forgets it.
 */
export const TETHER: string = `(() => {
  const { isMainThread } = process.getBuiltinModule("node:worker_threads");
  const input = process.getBuiltinModule("node:fs").fstatSync(0);
  if (!isMainThread || !(input.isFIFO() || input.isSocket())) return;
  const end = () => process.kill(process.pid, "SIGKILL");
  process.stdin.on("error", end).on("end", end).on("close", end).resume().unref();
})();`;
