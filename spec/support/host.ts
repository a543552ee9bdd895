// The rejections that the host sees as unhandled.

/**
 * Runs `work` while only the test listens for unhandled rejections, beside what the library itself installs, and gives
 * what reached it. Start systems within `work`, not before.
 */
export async function hostRejections(work: () => Promise<unknown>): Promise<unknown[]> {
  const event = "unhandledRejection";
  const others = process.listeners(event);
  const seen: unknown[] = [];
  const note = (error: unknown): void => void seen.push(error);
  for (const other of others) process.off(event, other);
  process.on(event, note);
  try {
    await work();
    await macrotask();
  } finally {
    process.off(event, note);
    for (const other of others) process.on(event, other);
  }
  return seen;
}

/** Resolves after a turn of the host, which by then has reported its rejections. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
